"""The reference allocator: which devices Kubernetes' scheduler would choose, and whether at all.

Pure functions over Kubernetes objects as plain dictionaries (``resource.k8s.io/v1``)::

    from pytest_dra.allocator import Attempt, Index, State, rules

    current = rules("1.37")
    index, state = Index(slices, current), State(current)
    attempt = Attempt(index, state, {"gpu": device_class}, [claim])
    for node in nodes:
        answer = attempt.on(node)

Facts are those of the Go allocator of Kubernetes 1.37, found by asking it; see
``tests/upstream/allocator.py``.
"""

from __future__ import annotations

from pytest_dra.allocator.attempt import BUDGET
from pytest_dra.allocator.attempt import Answer
from pytest_dra.allocator.attempt import Attempt
from pytest_dra.allocator.attempt import unavailable
from pytest_dra.allocator.index import Index
from pytest_dra.allocator.rules import Rules
from pytest_dra.allocator.rules import RulesError
from pytest_dra.allocator.rules import rules
from pytest_dra.allocator.rules import rules_of
from pytest_dra.allocator.state import State
from pytest_dra.allocator.taints import with_rules

__all__ = [
    "BUDGET",
    "Answer",
    "Attempt",
    "Index",
    "Rules",
    "RulesError",
    "State",
    "rules",
    "rules_of",
    "unavailable",
    "with_rules",
]
