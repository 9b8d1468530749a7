"""A cluster that the tests have already, from pytest-kind, pytest-kubernetes or their own fixture.

Nothing of those packages is imported: what is handed over is known by its attributes.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.kubeconfig import KubeconfigCluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch import Keeper

FILES: Final = ("kubeconfig_path", "kubeconfig")
"""Attributes with the path of a kubeconfig: of pytest-kind, of pytest-kubernetes."""

LOADERS: Final = ("load_docker_image", "load_image")
"""Their methods that give an image of the local engine to the nodes."""


class HandedCluster(KubeconfigCluster):
    """See the module. It is left as it was: everything that is made there is removed.

    Args:
        given: what the tests have.
        engine: has the images that its nodes get; None: they get them from somewhere.
        keeper: removes the private copy of the kubeconfig.
    """

    def __init__(self, given: object, *, engine: Engine | None, keeper: Keeper | None) -> None:
        super().__init__("", keeper=keeper, environ=environment_of(given))
        self._given = given
        self._engine = engine

    def load(self, image: str) -> bool:
        """Give an image of the local engine to all nodes. Raises ClusterError."""
        load = loader_of(self._given)
        if load is None or self._engine is None or not self._engine.has_image(image):
            return False
        try:
            load(image)
        except NotImplementedError:
            return False
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            raise ClusterError(f"image {image} cannot be loaded: {error}") from error
        return True


def kubeconfig_of(given: object) -> Path:
    """The kubeconfig of what was handed over: a path, or a cluster object that has one.

    Raises:
        ClusterError: it has none.
    """
    if isinstance(given, (str, Path)):
        return Path(given)
    for name in FILES:
        found: Any = getattr(given, name, None)
        if isinstance(found, (str, Path)) and str(found):
            return Path(found)
    raise ClusterError(
        f"dra_existing_cluster: got {type(given).__name__}, want the path of a kubeconfig, or a "
        f"cluster with {' or '.join(FILES)}, that has been created"
    )


def environment_of(given: object) -> dict[str, str]:
    """The environment that names it. Raises ClusterError as :func:`kubeconfig_of`."""
    return {"KUBECONFIG": str(kubeconfig_of(given))}


def loader_of(given: object) -> Callable[[str], object] | None:
    """What gives an image to the nodes of the cluster; None: nothing does."""
    found = (getattr(given, name, None) for name in LOADERS)
    return next((each for each in found if callable(each)), None)
