"""What is refused before anything is started: values that this release or machine cannot serve.

Standard library only, as ``options``.
"""

from __future__ import annotations

import importlib.util
from typing import Final

from pytest_dra.options import ATTACH
from pytest_dra.options import CEL_OWN
from pytest_dra.options import CEL_PYTHON
from pytest_dra.options import KUBE_SCHEDULER
from pytest_dra.options import REFERENCE
from pytest_dra.options import OptionError
from pytest_dra.options import Settings

EMBEDDED: Final = "embedded"
APISERVER: Final = "apiserver"
KIND: Final = "kind"
KUBECONFIG: Final = "kubeconfig"
WIRE: Final = "wire"
CLUSTER: Final = "cluster"
"""The depths that ``--dra-depth`` takes."""

INSTALLED: Final = "installed"
"""Value of --dra-driver: somebody else has deployed it."""


def context_of(cluster: str) -> str | None:
    """The context that ``--dra-cluster`` names, "" for the current one; None for another kind."""
    kind, _, context = cluster.partition(":")
    return context if kind == KUBECONFIG else None


def is_whole(cluster: str) -> bool:
    """True for a cluster whose nodes run pods."""
    return cluster == KIND or context_of(cluster) is not None


def depths_of(settings: Settings) -> tuple[str, ...]:
    """The depths at which a run judges, cheapest first.

    Raises:
        OptionError: --dra-depth names others, or one that --dra-cluster does not serve.
    """
    given, cluster = settings["dra_depth"], settings["dra_cluster"]
    whole = is_whole(cluster)
    if not given:
        return (CLUSTER,) if whole else (WIRE,)
    words = {word.strip() for word in given.split(",")}
    if not words <= {WIRE, CLUSTER}:
        raise OptionError(f"--dra-depth: got {given!r}, want wire, cluster or wire,cluster")
    if CLUSTER in words and not whole:
        raise OptionError(
            f"--dra-depth={given}: on which cluster? Name it: --dra-cluster={KIND} or "
            f"{KUBECONFIG}:CONTEXT"
        )
    if CLUSTER not in words and whole:
        raise OptionError(
            f"--dra-depth={given}: nothing is judged on --dra-cluster={cluster} then; leave one of "
            "them out, or ask for both: --dra-depth=wire,cluster"
        )
    return tuple(each for each in (WIRE, CLUSTER) if each in words)


def at_wire(settings: Settings) -> Settings:
    """The settings of the part of a run that judges at wire depth beside a whole cluster.

    What is installed there is no process here: that one is the profile's.
    """
    found = settings.instead("dra_cluster", EMBEDDED).instead("dra_depth", "")
    found = found.instead("dra_node", "")
    if found["dra_allocator"] == KUBE_SCHEDULER:
        found = found.instead("dra_allocator", "")
    return found.instead("dra_driver", "") if found["dra_driver"] == INSTALLED else found


def check_cluster(settings: Settings) -> None:
    """Raises OptionError for a cluster of no known kind, or without the depth that is asked for."""
    cluster = settings["dra_cluster"]
    if cluster not in (EMBEDDED, APISERVER) and not is_whole(cluster):
        raise OptionError(
            f"--dra-cluster: got {cluster!r}, want embedded, apiserver, kind or "
            "kubeconfig[:CONTEXT]"
        )
    depths_of(settings)


def check_later_features(settings: Settings) -> None:
    """Refuse what this release does not have yet, before anything is started.

    Raises:
        OptionError: one sentence that says so.
    """
    check_cluster(settings)
    cluster = settings["dra_cluster"]
    if settings["dra_allocator"] == KUBE_SCHEDULER and not is_whole(cluster):
        raise OptionError(
            f"--dra-allocator={KUBE_SCHEDULER}: no kube-scheduler runs with "
            f"--dra-cluster={cluster}; use --dra-allocator={REFERENCE}, or --dra-cluster={KIND}"
        )
    if settings["dra_node"] and not is_whole(cluster):
        raise OptionError(
            f"--dra-node={settings['dra_node']}: --dra-cluster={cluster} has one node; leave it "
            f"out, or use --dra-cluster={KUBECONFIG}:CONTEXT or {KIND}"
        )
    driver = settings["dra_driver"]
    previous = settings["dra_driver_previous"]
    if previous and not is_image(driver):
        raise OptionError(
            f"--dra-driver-previous={previous}: goes with an image under test: --dra-driver=IMAGE; "
            "the previous release of a process is launch.previous.command in the profile"
        )
    if is_whole(cluster):
        _check_deployable(driver)
        _check_installed(settings)
        if WIRE in depths_of(settings):
            check_later_features(at_wire(settings))
    elif driver == INSTALLED:
        raise OptionError(
            f"--dra-driver={INSTALLED}: on which cluster? Name it: --dra-cluster={KUBECONFIG}:"
            f"CONTEXT, or --dra-cluster={KIND} with --dra-reuse=NAME"
        )
    elif is_image(driver) and cluster != EMBEDDED:
        raise OptionError(
            f"--dra-driver={driver}: an image is run round the embedded API server, which it finds "
            f"as from within a pod; use --dra-cluster={EMBEDDED}, or {KIND}"
        )


def is_image(driver: str) -> bool:
    """True for a driver that is named by its image."""
    return bool(driver) and driver != INSTALLED and not _is_process(driver)


def _check_deployable(driver: str) -> None:
    if driver.startswith("exec:") or driver.split()[:1] == [ATTACH]:
        raise OptionError(
            f"--dra-driver={driver}: a process of this machine cannot run on the nodes of a "
            "cluster; name the driver's image, with --dra-manifests, or use "
            f"--dra-cluster={EMBEDDED}"
        )


def _check_installed(settings: Settings) -> None:
    if settings["dra_driver"] != INSTALLED:
        return
    if settings["dra_cluster"] == KIND and not settings["dra_reuse"]:
        raise OptionError(
            f"--dra-driver={INSTALLED}: nothing is installed on a new cluster; use one that "
            "exists: --dra-reuse=NAME"
        )
    if settings["dra_manifests"]:
        raise OptionError(
            f"--dra-driver={INSTALLED}: nothing is deployed; leave --dra-manifests out"
        )


def _is_process(driver: str) -> bool:
    return driver.startswith("exec:") or driver.split()[:1] in (["fake"], [ATTACH])


def check_cel_engine(settings: Settings) -> None:
    """The package behind the chosen CEL engine must be there.

    Raises:
        OptionError: it is not installed.
    """
    name = settings["dra_cel_engine"]
    if name == CEL_PYTHON and importlib.util.find_spec("celpy") is None:
        raise OptionError(
            f"--dra-cel-engine={name}: cel-python is not installed; "
            f"pip install 'pytest-dra[cel]', or use --dra-cel-engine={CEL_OWN}"
        )
