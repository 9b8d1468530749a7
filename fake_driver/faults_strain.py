"""Faults of much at a time, of the unexpected, and of what lasts long (ROB)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import threading
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.hotplug import Hotplug
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.inventory import Pool
from pytest_dra.fake_driver.ledger import FILE_MODE
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

BATCH_MAX: Final = 8
CLAIM_MAX: Final = 64 * 1024
"""As the texts of ROB-001 and ROB-005 have it."""


@fault("ROB-001", "refuse calls with more than 8 claims")
class SmallBatches(DraService):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        if len(refs) > BATCH_MAX:
            text = f"{len(refs)} claims in one call, want at most {BATCH_MAX}"
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, text)
        return super().prepare(refs, call, context)


@fault("ROB-004", "refuse messages with unknown fields")
class KnownFieldsOnly(DraService):
    def refs(self, request: Any, context: grpc.ServicerContext) -> list[ClaimRef]:
        known = type(request)()
        known.CopyFrom(request)
        known.DiscardUnknownFields()
        if known.ByteSize() != request.ByteSize():
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request has unknown fields")
        return super().refs(request, context)


@fault("ROB-005", "refuse claims larger than 64 KiB")
class SmallClaims(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        size = len(json.dumps(claim))
        if size > CLAIM_MAX:
            raise ClaimError(f"claim {ref} has {size} bytes, want at most {CLAIM_MAX}")
        return super().held(ref, claim)


def leave() -> None:
    """End the process at once."""
    os.abort()


@fault("ROB-007", "abort the process on an empty UID")
class AbortsOnNothing(Preparer):
    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        if not ref.uid:
            leave()
        return super().prepare(ref, call)


GAP_S: Final = 0.005
"""Between reading and writing, as the text of ROB-002 has it."""

INDEX: Final = "index.json"


@fault("ROB-002", "read, change and write the state file without a lock, 5 ms apart")
class UnlockedIndex(Preparer):
    """The file lists the UIDs of prepared claims; one that has got lost there is not released.

    What a predecessor has listed is released in any case, so that lost files do no harm.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.noted: set[str] = set()

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        answer = super().prepare(ref, call)
        listed = self._listed()
        threading.Event().wait(GAP_S)
        self._list(listed | {ref.uid})
        self.noted.add(ref.uid)
        return answer

    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        listed = self._listed()
        if ref.uid in self.noted and ref.uid not in listed:
            return
        super().unprepare(ref, call)
        threading.Event().wait(GAP_S)
        self._list(listed - {ref.uid})
        self.noted.discard(ref.uid)

    @property
    def _path(self) -> Path:
        return self.ledger.data_dir / INDEX

    def _listed(self) -> set[str]:
        try:
            return set(json.loads(self._path.read_bytes()))
        except (OSError, ValueError):
            return set(self.noted)

    def _list(self, uids: set[str]) -> None:
        with contextlib.suppress(OSError):
            self._path.touch(mode=FILE_MODE)
            self._path.write_text(json.dumps(sorted(uids)), "utf-8")


SLOW_S: Final = 3.0
SLOW_EVERY: Final = 20
"""As the text of ROB-003 has it."""


@fault("ROB-003", "sleep 3 s in every twentieth Prepare")
class SlowNowAndThen(Preparer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.count = 0

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        self.count += 1
        if self.count % SLOW_EVERY == 0:
            threading.Event().wait(SLOW_S)
        return super().prepare(ref, call)


LOOK_S: Final = 0.05
"""How often a caller is looked after that may have gone away."""

BROKEN: Final = 500


@fault(
    "ROB-006",
    "after a 500 on the claim's GET never release the lock that serialises the calls",
)
class KeepsLock(Preparer):
    """The claim that was refused gets through, so that repeating it (PREP-014) helps."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.turn = threading.Condition()
        self.holder = ""

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        self._take(ref, call)
        try:
            answer = super().prepare(ref, call)
        except ClaimError as error:
            cause = error.__cause__
            if not (isinstance(cause, ApiError) and cause.status == BROKEN):
                self._give_up()
            raise
        self._give_up()
        return answer

    def _take(self, ref: ClaimRef, call: Call) -> None:
        with self.turn:
            while self.holder not in ("", ref.uid):
                if not call.active():
                    raise ClaimError(f"claim {ref}: the caller has gone away")
                self.turn.wait(LOOK_S)
            self.holder = ref.uid

    def _give_up(self) -> None:
        with self.turn:
            self.holder = ""
            self.turn.notify_all()


_TRUNCATES = "truncate the state file before writing it, so that a failed write empties it"


@fault("ROB-008", _TRUNCATES)
class TruncatesFirst(Ledger):
    """The files of all claims that this process has prepared are written anew for each."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.handles: dict[str, int] = {}

    def refresh(self) -> None:
        with contextlib.suppress(OSError):
            super().refresh()

    def put(self, record: Record) -> None:
        texts = {uid: os.pread(fd, CLAIM_MAX, 0) for uid, fd in self.handles.items()}
        for fd in self.handles.values():
            os.ftruncate(fd, 0)
        super().put(record)
        for uid, text in texts.items():
            os.pwrite(self.handles[uid], text, 0)
        self._close(record.ref)
        self.handles[record.ref.uid] = os.open(self.path(record.ref), os.O_RDWR | os.O_CLOEXEC)

    def forget(self, ref: ClaimRef) -> None:
        self._close(ref)
        super().forget(ref)

    def _close(self, ref: ClaimRef) -> None:
        fd = self.handles.pop(ref.uid, None)
        if fd is not None:
            os.close(fd)

    def checkpoints(self) -> list[Path]:
        return [path for path in super().checkpoints() if path.stat().st_size]

    def emptied(self, ref: ClaimRef) -> bool:
        """True for a claim whose file says nothing any more."""
        path = self.path(ref)
        return path.exists() and not path.stat().st_size


@fault("ROB-008", _TRUNCATES)
class PassesOverTheEmptied(Preparer):
    def release(self, ref: ClaimRef, call: Call) -> None:
        if not (isinstance(self.ledger, TruncatesFirst) and self.ledger.emptied(ref)):
            super().release(ref, call)


@fault("ROB-010", "name devices by their position in the list")
class NamedByPosition(Hotplug):
    """What is whole has these names anyway; the fault shows once the first device is away."""

    def present(self) -> Inventory:
        found = super().present()
        return Inventory(tuple(self.numbered(pool) for pool in found.pools))

    def numbered(self, pool: Pool) -> Pool:
        """The pool with the first names of its list for the devices that are there."""
        whole = next(each for each in self.whole.pools if each.name == pool.name)
        names = [device["name"] for device in whole.devices]
        devices = tuple(
            {**device, "name": name} for name, device in zip(names, pool.devices, strict=False)
        )
        return dataclasses.replace(pool, devices=devices)


@fault("ROB-009", "leak one file descriptor per Prepare")
class Leaks(Preparer):
    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        return super().prepare(ref, call)
