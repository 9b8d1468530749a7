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


def check_later_features(settings: Settings) -> None:
    """Refuse what this release does not have yet, before anything is started.

    Raises:
        OptionError: one sentence that says so.
    """
    cluster = settings["dra_cluster"]
    if cluster.startswith("kubeconfig:"):
        raise OptionError(
            f"--dra-cluster={cluster}: not in this release yet; "
            f"use --dra-cluster={KIND}, {EMBEDDED} or {APISERVER}"
        )
    if cluster not in (EMBEDDED, APISERVER, KIND):
        raise OptionError(
            f"--dra-cluster: got {cluster!r}, want embedded, apiserver, kind or kubeconfig:CONTEXT"
        )
    if settings["dra_allocator"] == KUBE_SCHEDULER and cluster != KIND:
        raise OptionError(
            f"--dra-allocator={KUBE_SCHEDULER}: no kube-scheduler runs with "
            f"--dra-cluster={cluster}; use --dra-allocator={REFERENCE}, or --dra-cluster={KIND}"
        )
    driver = settings["dra_driver"]
    if cluster == KIND:
        _check_deployable(driver)
    elif driver and not _is_process(driver):
        raise OptionError(
            f"--dra-driver={driver}: running an image at wire depth is not in this release yet; "
            "use 'exec:COMMAND LINE' to run the driver's program, 'attach', or 'fake', or judge "
            f"the image on a cluster: --dra-cluster={KIND}"
        )


def _check_deployable(driver: str) -> None:
    if driver.startswith("exec:") or driver.split()[:1] == [ATTACH]:
        raise OptionError(
            f"--dra-driver={driver}: a process of this machine cannot run on the nodes of a "
            "cluster; name the driver's image, with --dra-manifests, or use "
            f"--dra-cluster={EMBEDDED}"
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
