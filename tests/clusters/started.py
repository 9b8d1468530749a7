"""An embedded cluster that runs while a test does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.timeline import Timeline


@contextmanager
def started() -> Iterator[EmbeddedCluster]:
    """A started cluster of Kubernetes 1.37 with a directory of its own; both go at the end."""
    with tempfile.TemporaryDirectory(prefix="dra-", dir="/tmp") as directory:
        made = EmbeddedCluster(Path(directory), kubernetes="1.37", timeline=Timeline())
        made.start()
        try:
            yield made
        finally:
            made.stop()
