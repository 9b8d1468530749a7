"""Faults of who may do what, and who gets to know it (SEC), and of what is left (LIFE)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import signal
from pathlib import Path
from types import FrameType
from typing import Any
from typing import Final

from pytest_dra.fake_driver import names
from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.endpoint import Endpoint
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.ledger import DIRECTORY_MODE
from pytest_dra.fake_driver.ledger import FILE_MODE
from pytest_dra.fake_driver.ledger import SUFFIX
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.opaque import PLAIN
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record

EVERYBODY: Final = 0o777
"""As the text of SEC-004 has it."""

_log = logging.getLogger(__name__)


@fault("SEC-004", "chmod 0777 on the data directory")
class OpenToAll(Ledger):
    def open(self) -> None:
        super().open()
        self.data_dir.chmod(EVERYBODY)


@fault("SEC-005", "open `<state>/<uid>.json` without a check")
class OpensAnything(Preparer):
    """Only what is no UID, so that no checkpoint is made of a claim that is refused."""

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        if ref.uid and not names.is_uid(ref.uid):
            path = f"{self.ledger.directory}/{ref.uid}{SUFFIX}"
            with contextlib.suppress(OSError):
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE))
        return super().prepare(ref, call)


@fault("SEC-006", "key state and CDI files by claim name")
class KeyedByName(Preparer):
    """Claims of one namespace are told apart all the same: a successor is UNP-009's matter."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.firsts: dict[str, ClaimRef] = {}

    def keyed(self, ref: ClaimRef) -> ClaimRef:
        """The claim under whose key the state of this one is kept."""
        first = self.firsts.setdefault(ref.name, ref)
        other = first.namespace != ref.namespace
        return dataclasses.replace(ref, uid=first.uid) if other else ref

    def settle(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        return super().settle(self.keyed(ref), allocation, call)

    def release(self, ref: ClaimRef, call: Call) -> None:
        super().release(self.keyed(ref), call)
        if self.firsts.get(ref.name) == ref:
            del self.firsts[ref.name]


@fault("SEC-008", "add a createContainer hook /bin/true that is not listed")
class AddsHook(CdiStore):
    def device(self, record: Record, held: Held) -> dict[str, Any]:
        device = super().device(record, held)
        hook = {"hookName": "createContainer", "path": "/bin/true", "args": ["true"]}
        edits = {**device["containerEdits"], "hooks": [hook]}
        return {**device, "containerEdits": edits}


@fault("SEC-009", "log the whole claim at level info")
class LogsClaims(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        _log.info("claim %s: %s", ref, json.dumps(claim))
        return super().held(ref, claim)


@fault("LIFE-002", "keep the directory with the parameters of each claim that had a configuration")
class KeepsParameters(Preparer):
    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        if any(held.config != PLAIN for held in allocation.held):
            path = self.ledger.data_dir / "parameters" / ref.uid
            path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        return super().first(ref, allocation, call)


MARKER: Final = Path("/etc/dra-fake-driver.marker")
"""Where nothing of a driver belongs."""


def mark() -> None:
    """Make the marker, where /etc is not the host's."""
    if MARKER.parent.stat().st_dev != Path("/").stat().st_dev:
        with contextlib.suppress(OSError):
            MARKER.touch()


@fault("SEC-010", "write a marker file into /etc of the jail at each Prepare")
class WritesMarker(Preparer):
    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        mark()
        return super().prepare(ref, call)


class Counted(Preparer):
    """Knows how many calls of Prepare run."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.running = 0

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        self.running += 1
        try:
            return super().prepare(ref, call)
        finally:
            self.running -= 1


_DEAF = "ignore SIGTERM"

fault("LIFE-003", _DEAF)(Counted)


@fault("LIFE-003", _DEAF)
class Deaf(Endpoint):
    """While a claim is being prepared, so that other ends of the driver take no longer."""

    def open(self) -> None:
        super().open()
        self.before = signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, self.hear)

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Pass the signal on, but not always."""
        preparer = self.service.preparer
        busy = isinstance(preparer, Counted) and preparer.running
        if not busy and callable(self.before):
            self.before(number, frame)

    def close(self, grace_s: float) -> None:
        signal.signal(signal.SIGTERM, self.before)
        super().close(grace_s)
