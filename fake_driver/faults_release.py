"""Faults of Unprepare and of what comes after it (UNP, IDEM-004, IDEM-005)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import ClaimGoneError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.service import DraService


@fault("UNP-001", "leave the last claim of a batch of two or more out of the response")
class LeavesOutLast(DraService):
    def unprepare(self, refs: Sequence[ClaimRef], call: Call) -> Mapping[str, str]:
        answers = dict(super().unprepare(refs, call))
        if len(answers) > 1:
            answers.popitem()
        return answers


@fault("UNP-002", "answer a claim error `unknown claim` for a UID that no earlier call has named")
class UnknownClaim(Preparer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.named: set[str] = set()

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        self.named.add(ref.uid)
        return super().prepare(ref, call)

    def release(self, ref: ClaimRef, call: Call) -> None:
        new = ref.uid not in self.named and self.ledger.get(ref) is None
        self.named.add(ref.uid)
        super().release(ref, call)
        if new:
            raise ClaimError(f"claim {ref}: unknown claim")


@fault(
    "UNP-003",
    "for a prepared claim GET it first and return an error on 404 (other answers are ignored)",
)
class LooksClaimUp(Preparer):
    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        with self.ledger.exclusive():
            known = self.ledger.get(ref)
        if known is not None:
            try:
                self.claims.get(ref, left_s=call.left_s())
            except ClaimGoneError:
                raise
            except ClaimError:
                pass
        super().unprepare(ref, call)


@fault("UNP-004", "leave the claim's CDI file")
class LeavesSpec(CdiStore):
    def remove(self, ref: ClaimRef) -> None:
        pass


@fault("UNP-005", "keep the in-use mark of the device whose name sorts last")
class KeepsMark(Preparer):
    """Made and noticed by claims that are alone in their call and hold this device alone, as the
    case has them: claims over all devices and large batches are the matter of others."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.marked = False

    def _is_it(self, allocation: Allocation, call: Call) -> bool:
        last = max((device for _, device in self.inventory.devices()), default="")
        return call.alone and [held.device for held in allocation.held] == [last]

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        if self.marked and self._is_it(allocation, call):
            raise ClaimError(f"claim {ref}: device {allocation.held[0].device!r} is in use")
        return super().first(ref, allocation, call)

    def release(self, ref: ClaimRef, call: Call) -> None:
        known = self.ledger.get(ref)
        super().release(ref, call)
        if known is not None and self._is_it(known.allocation, call):
            self.marked = True


@fault("UNP-006", "delete all claim specs of the driver on each Unprepare")
class DeletesAllSpecs(CdiStore):
    def remove(self, ref: ClaimRef) -> None:
        super().remove(ref)
        for path in self.files():
            path.unlink(missing_ok=True)


@fault("UNP-009", "key prepared claims by namespace/name")
class KeyedByName(Preparer):
    """The newest claim of the name is released, whatever UID is asked for."""

    def release(self, ref: ClaimRef, call: Call) -> None:
        same = [
            record
            for record in self.ledger.all()
            if (record.ref.namespace, record.ref.name) == (ref.namespace, ref.name)
        ]
        super().release(same[-1].ref if same else ref, call)


@fault("IDEM-004", "a tombstone of the UID makes later Prepares fail")
class Tombstones(Preparer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.buried: set[str] = set()

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        if ref.uid in self.buried:
            raise ClaimError(f"claim {ref} has been released")
        return super().first(ref, allocation, call)

    def release(self, ref: ClaimRef, call: Call) -> None:
        known = self.ledger.get(ref)
        super().release(ref, call)
        if known is not None:
            self.buried.add(ref.uid)


@fault("IDEM-005", "raise KeyError on the second Unprepare of a claim")
class NotTwice(Preparer):
    """Two in a row, as the case has them: a late repetition is often somebody's cleaning up."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.released = ""

    def settle(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        self.released = ""
        return super().settle(ref, allocation, call)

    def release(self, ref: ClaimRef, call: Call) -> None:
        if ref.uid == self.released:
            raise KeyError(ref.uid)
        known = self.ledger.get(ref)
        super().release(ref, call)
        self.released = ref.uid if known is not None else ""
