"""What a scheduler makes of pods and claims: which claims a pod has, which nodes it may go to.

Pure functions over objects as plain dictionaries, above :mod:`pytest_dra.allocator`::

    cluster = Cluster(objects)
    scheduler = Scheduler(cluster, rules("1.37"))
    for subject in cluster.pending():
        decision = scheduler.decide(subject)
        scheduler.accept(decision)
"""

from __future__ import annotations

from pytest_dra.scheduling.cluster import Cluster
from pytest_dra.scheduling.deciding import Decision
from pytest_dra.scheduling.deciding import NodeAnswer
from pytest_dra.scheduling.deciding import Scheduler
from pytest_dra.scheduling.subjects import Subject

__all__ = ["Cluster", "Decision", "NodeAnswer", "Scheduler", "Subject"]
