"""Which run each kind cluster is of: one small file per cluster, in the user's state directory.

A cluster that is half made has no API server to ask, and kind puts no labels of ours on containers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.protocol import ClusterError

VARIABLE: Final = "XDG_STATE_HOME"
USUAL: Final = "~/.local/state"
FOLDER: Final = "pytest-dra/kind"

SIZE_MAX: Final = 4096
"""Bytes of a record that are read; it has some hundred."""


class KindRecords:
    """See the module.

    Args:
        environ: names the user's state directory.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._folder = Path(environ.get(VARIABLE) or USUAL).expanduser() / FOLDER

    def note(self, cluster: str) -> None:
        """Write down that a cluster is of this process. Raises ClusterError."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file(cluster).write_text(Owner.here().written(), "utf-8")
        except OSError as error:
            raise ClusterError(
                f"{self._folder}: {error.strerror}; clusters of runs are written down there, "
                f"name another place: {VARIABLE}"
            ) from error

    def owner(self, cluster: str) -> Owner | None:
        """The process that has made a cluster; None where that is not known."""
        try:
            with self._file(cluster).open("rb") as file:
                return Owner.read(file.read(SIZE_MAX).decode("utf-8", "replace"))
        except OSError:
            return None

    def forget(self, cluster: str) -> None:
        """The cluster is gone."""
        with suppress(OSError):
            self._file(cluster).unlink()

    def known(self) -> list[str]:
        """Names of all clusters that are written down."""
        with suppress(OSError):
            return sorted(each.name for each in self._folder.iterdir())
        return []

    def _file(self, cluster: str) -> Path:
        return self._folder / cluster
