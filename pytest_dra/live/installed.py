"""The pods of a driver that somebody else has installed: by what its plugin has to mount."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from pytest_dra.checks.workloads import PLUGINS
from pytest_dra.checks.workloads import dict_at
from pytest_dra.checks.workloads import list_at
from pytest_dra.spec import Json

DAEMON_SET = "DaemonSet"


def plugins_of(name: str, pods: Iterable[Json], *, nodes: Iterable[str]) -> list[Json]:
    """The pods of a driver's kubelet plugin; none where that is not sure.

    They are of a DaemonSet, run where the driver publishes devices, and mount the kubelet's
    directory of plugins. Those of several DaemonSets do; one that names the driver is it.

    Args:
        name: of the driver.
        pods: all pods of the cluster.
        nodes: names of those that have devices of the driver.
    """
    here = set(nodes)
    found = [
        pod
        for pod in pods
        if dict_at(pod, "spec").get("nodeName") in here and _set_of(pod) and _mounts_plugins(pod)
    ]
    named = [pod for pod in found if any(name in text for text in _texts(pod["spec"]))]
    meant = named or found
    return meant if len({_set_of(pod) for pod in meant}) == 1 else []


def nodes_of(name: str, pods: Iterable[Json], *, publishing: Iterable[str]) -> list[str]:
    """Where an installed driver should have devices: on a node whose plugin is broken it has none.

    Args:
        name: of the driver.
        pods: all pods of the cluster.
        publishing: names of the nodes that have devices of it.

    Returns:
        These, and the nodes of all pods of its plugin's DaemonSet, sorted.
    """
    here, every = set(publishing), list(pods)
    sets = {_set_of(each) for each in plugins_of(name, every, nodes=here)}
    runs = {dict_at(each, "spec").get("nodeName") for each in every if _set_of(each) in sets}
    return sorted(here | {str(each) for each in runs if each})


def _set_of(pod: Json) -> tuple[str, str] | None:
    """Namespace and name of the pod's DaemonSet."""
    metadata = dict_at(pod, "metadata")
    for owner in list_at(metadata, "ownerReferences"):
        if owner.get("kind") == DAEMON_SET:
            return str(metadata.get("namespace")), str(owner.get("name"))
    return None


def _mounts_plugins(pod: Json) -> bool:
    paths = (
        str(dict_at(each, "hostPath").get("path") or "")
        for each in list_at(dict_at(pod, "spec"), "volumes")
    )
    return any(path.startswith(PLUGINS) or _is_above(path) for path in paths)


def _is_above(path: str) -> bool:
    """True for a folder of the host, but not all of it, that has the plugins in it."""
    folder = path.rstrip("/")
    return bool(folder) and PLUGINS.startswith(f"{folder}/")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value
