"""Faults of repetition, simultaneity and order (IDEM)."""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.opaque import DeviceConfig
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

GAP_S: Final = 0.05
"""Between look-up and record, as the text of IDEM-003 has it."""

SUFFIX_BYTES: Final = 4


@fault(
    "IDEM-003",
    "look a claim up and record it without a lock, 50 ms apart, "
    "with a random suffix in the CDI device name of each preparation",
)
class NoLock(Preparer):
    """The suffix comes of a random label, which is a part of what the name is made from."""

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        ref.check()
        allocation = self.allocation(ref, call)
        if not call.active():
            raise ClaimError(f"claim {ref}: the caller has gone away")
        try:
            with self.ledger.exclusive():
                known = self.ledger.get(ref)
                if known is not None and known.whole:
                    return self.settle(ref, allocation, call)
            threading.Event().wait(GAP_S)
            with self.ledger.exclusive():
                return self.first(ref, _labelled(allocation), call)
        except OSError as error:
            raise ClaimError(f"claim {ref}: {error.strerror} ({error.filename})") from error


def _labelled(allocation: Allocation) -> Allocation:
    label = secrets.token_hex(SUFFIX_BYTES)
    return Allocation(
        held=tuple(
            held
            if held.config.label
            else dataclasses.replace(held, config=DeviceConfig(mode=held.config.mode, label=label))
            for held in allocation.held
        )
    )


@fault("IDEM-006", "skip the whole batch when one of its claims is already prepared")
class SkipsBatch(DraService):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        ledger = self.preparer.ledger
        with ledger.exclusive():
            known = any(ledger.get(ref) is not None for ref in refs)
        return {} if known and len(refs) > 1 else super().prepare(refs, call, context)


@fault("IDEM-008", "serve the cached result of the first Prepare")
class ServesCached(Preparer):
    def settle(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        known = self.ledger.get(ref)
        if known is not None and known.whole:
            return self.again(known)
        return super().settle(ref, allocation, call)


@fault(
    "IDEM-009",
    "if A was prepared again after B had been prepared, Unprepare of B also deletes A's CDI file",
)
class DeletesRepeated(Preparer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.repeated: dict[str, dict[str, ClaimRef]] = defaultdict(dict)

    def again(self, record: Record) -> tuple[Prepared, ...]:
        uids = [each.ref.uid for each in self.ledger.all()]
        for later in uids[uids.index(record.ref.uid) + 1 :]:
            self.repeated[later][record.ref.uid] = record.ref
        return super().again(record)

    def release(self, ref: ClaimRef, call: Call) -> None:
        super().release(ref, call)
        for other in self.repeated.pop(ref.uid, {}).values():
            self.cdi.remove(other)
