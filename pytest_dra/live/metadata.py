"""Metadata of devices, as a container of a pod finds it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra.checks import metadata
from pytest_dra.checks.metadata import Place
from pytest_dra.live.pods import Pod
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench

LISTED_MAX: Final = 100
"""Files that are listed: as many as a claim can have requests, and more."""

_LIST: Final = f'find "$0" -type f 2>/dev/null | head -n {LISTED_MAX}'
_READ: Final = 'cat "$0" 2>/dev/null; true'
_WRITE: Final = '( : >> "$0" ) 2>/dev/null && echo written; true'


class Reader:
    """Looks from within one container.

    Args:
        bench: whose pod it is.
        pod: runs.
        container: its name.
    """

    def __init__(self, bench: LiveBench, pod: Pod, container: str) -> None:
        self._bench = bench
        self._pod = pod
        self._container = container
        self._where = f"{pod}, container {container}"

    def document(self, place: Place) -> Json:
        """The first object of a request's file.

        Raises:
            Violation: there is no such file, or none in it.
        """
        text = self._run(_READ, place.path)
        if not text:
            raise Violation(
                f"{place} in {self._where}",
                got=f"no file there, but {', '.join(self.files()) or 'none elsewhere'}",
                want=place.path,
            )
        return metadata.document_in(text.encode(), place)

    def files(self) -> list[str]:
        """Paths of all files with metadata."""
        return sorted(self._run(_LIST, metadata.ROOT).split())

    def must_have_no_other(self, place: Place) -> None:
        """Judge that the request's files are all that the container sees.

        Raises:
            Violation: it sees others.
        """
        own = PurePosixPath(place.path).parent
        others = [path for path in self.files() if own not in PurePosixPath(path).parents]
        if others:
            raise Violation(
                f"files with metadata in {self._where}, which names request {place.request!r}",
                got=", ".join(others),
                want=f"nothing but {place.path}",
            )

    def must_be_read_only(self, place: Place) -> None:
        """Judge that a write fails, which would add nothing.

        Raises:
            Violation: it does not.
        """
        if self._run(_WRITE, place.path):
            raise Violation(
                f"{place} in {self._where}, opened to be written",
                got="it can be written",
                want="refused: the file is mounted read-only",
            )

    def _run(self, script: str, path: str) -> str:
        return self._bench.pods.run_in(
            self._pod, ["sh", "-c", script, path], container=self._container
        )
