"""The checkpoints: one file per prepared claim, which is the truth about what is in use.

The directory is looked at again in each critical section, so that a second instance of the driver
on the same directories (rolling update) sees the same state; what has not changed is not read
again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver import record as records
from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.record import Record

FILE_MODE: Final = 0o600
"""Checkpoints are the driver's own business."""

DIRECTORY_MODE: Final = 0o750

SUFFIX: Final = ".json"

DAMAGED: Final = ".damaged"
"""Added to the name of a checkpoint that cannot be read, until its claim is served again."""

_log = logging.getLogger(__name__)

_Signature = tuple[int, int, int]
"""Inode, size and time of change of a checkpoint file."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Seen:
    signature: _Signature
    record: Record


class Ledger:
    """All prepared claims of this node. Use it inside :meth:`exclusive` only."""

    def __init__(self, data_dir: Path, cdi: CdiStore) -> None:
        self.data_dir = data_dir
        self.directory = data_dir / "claims"
        self.cdi = cdi
        self._lock = threading.Lock()
        self._lock_file = -1
        self._seen: dict[str, _Seen] = {}
        self.taken_over: frozenset[str] = frozenset()
        self.version = records.VERSION

    def open(self) -> None:
        """Make the directories and take over what a predecessor has left; OSError if impossible."""
        self.data_dir.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        self.directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        path = self.data_dir / "lock"
        self._lock_file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        with self.exclusive():
            for left in self.directory.glob(f".*{files.TEMPORARY}"):
                left.unlink(missing_ok=True)
            self.taken_over = frozenset(self._seen)
            if self._seen:
                _log.info("took over %d prepared claims", len(self._seen))

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else, in this process or another instance, changes state meanwhile."""
        with self._lock:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX)
            try:
                self.refresh()
                yield
            finally:
                fcntl.flock(self._lock_file, fcntl.LOCK_UN)

    def path(self, ref: ClaimRef) -> Path:
        """The claim's checkpoint file."""
        return self.directory / f"{ref.uid}{SUFFIX}"

    def get(self, ref: ClaimRef) -> Record | None:
        """The claim's record, found by its UID."""
        seen = self._seen.get(ref.uid)
        return seen.record if seen else None

    def all(self) -> list[Record]:
        """The records of all claims, in the order in which they were prepared."""
        seen = sorted(self._seen.values(), key=lambda one: one.signature[2])
        return [one.record for one in seen]

    def others(self, ref: ClaimRef) -> list[Record]:
        """The records of all other claims."""
        return [seen.record for uid, seen in self._seen.items() if uid != ref.uid]

    def in_use(self, ref: ClaimRef, held: Held) -> Record | None:
        """The other claim, if any, that must not hold a device together with ``ref``."""
        for other in self.others(ref):
            if any(held.excludes(taken) for taken in other.allocation.held):
                return other
        return None

    def put(self, record: Record) -> None:
        """Remember a prepared claim; OSError if that fails, and then nothing is known of it."""
        path = self.path(record.ref)
        files.write(path, records.encode(record, version=self.version), mode=FILE_MODE)
        files.remove(path.with_name(path.name + DAMAGED))
        self._seen[record.ref.uid] = _Seen(_signature(path), record)

    def forget(self, ref: ClaimRef) -> None:
        """Forget a claim; OSError if that fails, and then it is still known."""
        path = self.path(ref)
        files.remove(path)
        files.remove(path.with_name(path.name + DAMAGED))
        self._seen.pop(ref.uid, None)

    def checkpoints(self) -> list[Path]:
        """The files of prepared claims."""
        with os.scandir(self.directory) as entries:
            paths = sorted(Path(entry.path) for entry in entries)
        return [
            path for path in paths if path.name.endswith(SUFFIX) and not path.name.startswith(".")
        ]

    def refresh(self) -> None:
        """Bring memory in line with the directory."""
        found: dict[str, _Seen] = {}
        for path in self.checkpoints():
            seen = self._read(path)
            if seen:
                found[seen.record.ref.uid] = seen
        for path in self.directory.glob(f"*{SUFFIX}{DAMAGED}"):
            damaged = self._damaged(path)
            found.setdefault(damaged.record.ref.uid, damaged)
        self._seen = found

    def _read(self, path: Path) -> _Seen | None:
        try:
            signature = _signature(path)
            known = self._seen.get(path.name.removesuffix(SUFFIX))
            if known and known.signature == signature:
                return known
            record = records.decode(files.read(path), newest=self.version)
            if record.ref.uid != path.name.removesuffix(SUFFIX):
                raise ValueError(f"it is the checkpoint of {record.ref}")
            return _Seen(signature, record)
        except FileNotFoundError:
            return None
        except ValueError as error:
            aside = path.with_name(path.name + DAMAGED)
            _log.warning("checkpoint %s put aside as %s: %s", path, aside.name, error)
            path.rename(aside)
            return None

    def _damaged(self, path: Path) -> _Seen:
        """A stand-in for a damaged checkpoint: what the CDI spec says is in use stays in use."""
        uid = path.name.removesuffix(SUFFIX + DAMAGED)
        ref = ClaimRef(namespace="", name="", uid=uid)
        record = Record(ref=ref, allocation=self.cdi.told(ref), whole=False)
        return _Seen(_signature(path), record)


def _signature(path: Path) -> _Signature:
    status = path.stat()
    return (status.st_ino, status.st_size, status.st_mtime_ns)
