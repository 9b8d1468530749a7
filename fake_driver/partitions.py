"""Partitions of the fake hardware that are made for a claim, and go with it.

Each is a file: as real partitions do, they outlive the process that has made them.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.options import Options

FEATURE: Final = "dynamic"
"""Of ``--features``: devices in its pool are partitions that do not exist until they are needed."""

MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o750

SEPARATOR: Final = "_"
"""Between a claim's UID and a device's name, neither of which has it."""


class Partitions:
    """The partitions of this node."""

    def __init__(self, options: Options) -> None:
        self.active = FEATURE in options.features
        self.directory = options.data_dir / "partitions"
        self.pool = f"{options.node_name}-{FEATURE}"

    def open(self, known: Collection[str]) -> None:
        """Remove what a crash has left of claims that are not known by their UID; OSError."""
        self.directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        for path in self.directory.iterdir():
            if path.name.partition(SEPARATOR)[0] not in known:
                path.unlink(missing_ok=True)

    def make(self, ref: ClaimRef, allocation: Allocation) -> None:
        """Make the partitions that a claim holds; OSError if that fails."""
        for held in allocation.held:
            if self.active and held.pool == self.pool:
                files.write(self._path(ref, held.device), b"", mode=MODE)

    def remove(self, ref: ClaimRef) -> None:
        """Remove the partitions of a claim; OSError if that fails."""
        if self.active:
            for path in self.directory.glob(f"{ref.uid}{SEPARATOR}*"):
                path.unlink(missing_ok=True)

    def _path(self, ref: ClaimRef, device: str) -> Path:
        return self.directory / f"{ref.uid}{SEPARATOR}{device}"
