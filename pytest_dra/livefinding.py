"""A cluster of others, looked at before a run: its version, and what this user may do there."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager

from pytest_dra.api import resources
from pytest_dra.clusters.kubeconfig import KubeconfigCluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import KubeError
from pytest_dra.live.leftovers import room_name
from pytest_dra.live.needed import Need
from pytest_dra.live.needed import missing
from pytest_dra.live.needed import must_be_granted
from pytest_dra.live.needed import needs_of
from pytest_dra.nodeimage import as_version
from pytest_dra.options import REFERENCE
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.refusals import context_of
from pytest_dra.spec import Json

ANY_RUN = "run"
"""Stands for the run's name, which nobody knows yet, where rights are asked for."""


@contextmanager
def found(settings: Settings) -> Iterator[KubeconfigCluster]:
    """The cluster of ``--dra-cluster=kubeconfig``, started.

    Raises:
        OptionError: it cannot be used, or what is done with it fails.
    """
    context = context_of(settings["dra_cluster"]) or ""
    cluster = KubeconfigCluster(context, keeper=None, environ=settings.environ)
    try:
        cluster.start()
        yield cluster
    except ClusterError as error:
        raise OptionError(f"--dra-cluster={settings['dra_cluster']}: {error}") from error
    finally:
        cluster.stop()


def with_version(settings: Settings) -> Settings:
    """The settings with the Kubernetes version that the cluster has.

    Raises:
        OptionError: another one was asked for, or the cluster cannot be used.
    """
    with found(settings) as cluster:
        said = cluster.facts.version
    source = f"--dra-cluster={settings['dra_cluster']}"
    other = f"the cluster has {said}; leave it out"
    return as_version(settings, said, source=source, other=other)


def must_have_its_node(settings: Settings) -> None:
    """Look for the node that was chosen; who may not look finds out later.

    Raises:
        OptionError: the cluster has no node of this name.
    """
    name = settings["dra_node"]
    with found(settings) as cluster:
        try:
            cluster.admin().get(resources.NODES, name)
        except KubeError as error:
            if error.code == NOT_FOUND:
                raise OptionError(f"--dra-node={name}: the cluster has no such node") from error


def must_be_allowed(settings: Settings, objects: Sequence[Json]) -> None:
    """Ask whether this user may do everything that a run does.

    Args:
        settings: name cluster and allocator.
        objects: what is deployed.

    Raises:
        OptionError: something is not granted; all of it in one sentence.
    """
    with found(settings) as cluster:
        needs = needs_of(
            cluster.admin(),
            objects,
            namespace=room_name(ANY_RUN),
            allocates=settings["dra_allocator"] == REFERENCE,
            disturbs=settings["dra_disruptive"] == "true",
        )
        must_be_granted(cluster.admin(), needs)


def not_granted(settings: Settings, needs: Sequence[Need]) -> str:
    """Which of these rights this user does not have, in words. Raises OptionError."""
    with found(settings) as cluster:
        return missing(cluster.admin(), needs)
