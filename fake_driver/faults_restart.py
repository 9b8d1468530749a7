"""Faults of what comes after a restart, a crash or a reboot (RST)."""

from __future__ import annotations

import threading
from typing import Any
from typing import Final

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.claims import GONE_GET_S
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record

LATE_CDI_S: Final = 0.05
"""As the text of RST-005 has it."""


@fault("RST-001", "forget prepared claims at start but keep their devices marked busy")
class ForgetsClaims(Ledger):
    """The mark lasts for the life of the process, or until the claim is unprepared: so the cases
    that come after are not affected."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.busy: dict[str, Record] = {}

    def open(self) -> None:
        super().open()
        with self.exclusive():
            for record in self.all():
                self.busy[record.ref.uid] = record
                super().forget(record.ref)
        self.taken_over = frozenset()

    def in_use(self, ref: ClaimRef, held: Held) -> Record | None:
        for record in self.busy.values():
            if any(held.excludes(taken) for taken in record.allocation.held):
                return record
        return super().in_use(ref, held)

    def forget(self, ref: ClaimRef) -> None:
        super().forget(ref)
        self.busy.pop(ref.uid, None)


_MEMORY_ONLY = "keep prepared claims in memory only"


@fault("RST-002", _MEMORY_ONLY)
class MemoryOnly(Ledger):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.memory: dict[str, Record] = {}

    def get(self, ref: ClaimRef) -> Record | None:
        return self.memory.get(ref.uid)

    def all(self) -> list[Record]:
        return list(self.memory.values())

    def others(self, ref: ClaimRef) -> list[Record]:
        return [record for uid, record in self.memory.items() if uid != ref.uid]

    def put(self, record: Record) -> None:
        self.memory[record.ref.uid] = record

    def forget(self, ref: ClaimRef) -> None:
        self.memory.pop(ref.uid, None)


@fault("RST-002", _MEMORY_ONLY)
class ReleasesWhatItKnows(Preparer):
    def release(self, ref: ClaimRef, call: Call) -> None:
        if self.ledger.get(ref) is not None:
            super().release(ref, call)


@fault(
    "RST-003",
    "return the stored ids when the checkpoint knows the claim, without looking for the spec",
)
class BelievesCheckpoint(Preparer):
    """Unprepare forgets before it removes the spec, so that only a reboot parts the two."""

    def again(self, record: Record) -> tuple[Prepared, ...]:
        return record.answer(self.cdi.kind)

    def release(self, ref: ClaimRef, call: Call) -> None:
        self.ledger.forget(ref)
        super().release(ref, call)


_CONFLICT = "treat an existing CDI file as a fatal conflict"


@fault("RST-004", _CONFLICT)
class NotesCrash(Ledger):
    """After a crash, which leaves sockets, everything can be repaired."""

    crashed = False

    def open(self) -> None:
        self.crashed = any(self.data_dir.glob("dra*.sock"))
        super().open()


@fault("RST-004", _CONFLICT)
class StumblesOverSpec(Preparer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.old = frozenset(self.cdi.files())

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        path = self.cdi.path(ref)
        tolerant = isinstance(self.ledger, NotesCrash) and self.ledger.crashed
        if path in self.old and path.exists() and not tolerant:
            raise ClaimError(f"claim {ref}: {path} exists already")
        return super().first(ref, allocation, call)


@fault("RST-005", "write the checkpoint first and CDI 50 ms later, and never compare them at start")
class CheckpointFirst(Preparer):
    """What was prepared by this process is compared, so that other cases are not affected."""

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        if self.cdi.path(ref).exists():
            return super().first(ref, allocation, call)
        self.check(ref, allocation, call)
        record = Record(ref=ref, allocation=allocation)
        self.ledger.put(record)
        threading.Event().wait(LATE_CDI_S)
        try:
            self.cdi.write(record)
        except OSError:
            self.ledger.forget(ref)
            raise
        return record.answer(self.cdi.kind)

    def again(self, record: Record) -> tuple[Prepared, ...]:
        if record.ref.uid in self.ledger.taken_over:
            return record.answer(self.cdi.kind)
        return super().again(record)


@fault("RST-006", "ignore the corruption and start with an empty state")
class IgnoresCorruption(Ledger):
    def open(self) -> None:
        super().open()
        with self.exclusive():
            for record in self.all():
                if not record.whole:
                    files.remove(self.path(record.ref))
                    self.forget(record.ref)


@fault(
    "RST-007",
    "after a restart answer OK to Unprepare of claims that no longer exist in the API, or are "
    "deleted, without releasing them",
)
class SkipsTheDead(Preparer):
    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.skipped: set[str] = set()

    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        if ref.uid in self.ledger.taken_over and self._is_dying(ref):
            self.skipped.add(ref.uid)
            return
        super().unprepare(ref, call)

    def is_abandoned(self, record: Record) -> bool:
        return record.ref.uid not in self.skipped and super().is_abandoned(record)

    def _is_dying(self, ref: ClaimRef) -> bool:
        """A claim that is deleted stays until its pod has gone, where there is one."""
        if self.claims.gone(ref):
            return True
        claim = self.claims.source.get_claim(ref.namespace, ref.name, timeout_s=GONE_GET_S)
        return "deletionTimestamp" in claim["metadata"]
