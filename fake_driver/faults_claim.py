"""Faults of Prepare, of its repetition, of CDI specs and of taking over (PREP, IDEM, CDI)."""

from __future__ import annotations

import dataclasses
import errno
import threading
import uuid
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.cdi_store import FILE_MODE
from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import ConfigError
from pytest_dra.fake_driver.errors import NotAllocatedError
from pytest_dra.fake_driver.errors import UnknownDeviceError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

REPEATS_SERVED: Final = 4
"""Repeated Prepares of a claim that are answered well with IDEM-001."""

LATE_SPEC_S: Final = 0.3
"""As the text of CDI-002 has it."""


class AlteredAnswers(DraService):
    """A service whose good answers are altered on their way out; what is remembered is right."""

    def prepare_one(self, ref: ClaimRef, call: Call) -> Answer:
        answer = super().prepare_one(ref, call)
        return answer if isinstance(answer, ClaimError) else self.alter(answer)

    def alter(self, devices: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
        """What is answered in place of ``devices``."""
        raise NotImplementedError


@fault("PREP-001", "leave out the last claim of a batch of two or more")
class LeavesOutLast(DraService):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        answers = dict(super().prepare(refs, call, context))
        if len(answers) > 1:
            answers.popitem()
        return answers


@fault(
    "PREP-002", "add an entry with an invented UID to the response of batches of two or more claims"
)
class InventsClaim(DraService):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        answers = super().prepare(refs, call, context)
        return {**answers, str(uuid.uuid4()): ()} if len(answers) > 1 else answers


@fault("PREP-003", "return an empty pool_name")
class NoPoolName(AlteredAnswers):
    def alter(self, devices: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
        return tuple(dataclasses.replace(device, pool="") for device in devices)


@fault("PREP-004", "return only the first result of a claim")
class FirstResultOnly(AlteredAnswers):
    def alter(self, devices: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
        return devices[:1]


@fault("PREP-005", "return the request name with a suffix (`req0x`)")
class SuffixedRequests(AlteredAnswers):
    def alter(self, devices: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
        return tuple(
            dataclasses.replace(device, requests=tuple(f"{name}x" for name in device.requests))
            for device in devices
        )


@fault("PREP-006", "treat every result as own and fail on the unknown device")
class TakesForeignResults(Claims):
    def own(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return results


@fault("PREP-007", "answer OK with zero devices")
class AcceptsUnknownDevice(Preparer):
    """For a claim alone in its call, as the case sends it: batches are PREP-011's."""

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        try:
            return super().first(ref, allocation, call)
        except UnknownDeviceError:
            if call.alone:
                return ()
            raise


@fault("PREP-010", "pick any free device for an unallocated claim")
class PicksDevice(Preparer):
    def allocation(self, ref: ClaimRef, call: Call) -> Allocation:
        try:
            return super().allocation(ref, call)
        except NotAllocatedError:
            with self.ledger.exclusive():
                return self._pick(ref)

    def _pick(self, ref: ClaimRef) -> Allocation:
        for pool, device in self.inventory.devices():
            held = Held(pool=pool, device=device, requests=())
            if self.ledger.in_use(ref, held) is None:
                return Allocation(held=(held,))
        raise ClaimError(f"claim {ref}: no device is free")


@fault(
    "PREP-011", "answer a status error for the whole call when one claim has a bad configuration"
)
class WholeCallFails(DraService):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        answers = super().prepare(refs, call, context)
        for answer in answers.values():
            if isinstance(answer, ConfigError):
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(answer))
        return answers


@fault("PREP-012", "no check across claims")
class NoCheckAcrossClaims(Ledger):
    """Claims that were taken over from a predecessor are still checked: that is RST-006's."""

    def in_use(self, ref: ClaimRef, held: Held) -> Record | None:
        other = super().in_use(ref, held)
        return other if other is not None and other.ref.uid in self.taken_over else None


@fault("PREP-023", "answer each Prepare with a claim error, quickly")
class RefusesAll(DraService):
    def prepare_one(self, ref: ClaimRef, call: Call) -> Answer:
        return ClaimError(f"claim {ref}: this driver prepares nothing")


@fault(
    "IDEM-001",
    "answer a claim error `already prepared` from the fifth Prepare of a prepared claim on",
)
class TiresOfRepeats(Preparer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.repeats: Counter[str] = Counter()

    def again(self, record: Record) -> tuple[Prepared, ...]:
        self.repeats[record.ref.uid] += 1
        if self.repeats[record.ref.uid] > REPEATS_SERVED:
            raise ClaimError(f"claim {record.ref}: already prepared")
        return super().again(record)

    def release(self, ref: ClaimRef, call: Call) -> None:
        super().release(ref, call)
        self.repeats.pop(ref.uid, None)


@fault("IDEM-002", "append the edits to the spec on each call")
class AppendsEdits(CdiStore):
    """The variables that are appended are numbered, so that they stay apart when applied."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.calls: Counter[str] = Counter()

    def write(self, record: Record) -> None:
        self.calls[record.ref.uid] = 0
        super().write(record)

    def ensure(self, record: Record) -> None:
        self.calls[record.ref.uid] += 1
        super().write(record)

    def device(self, record: Record, held: Held) -> dict[str, Any]:
        device = super().device(record, held)
        edits = device["containerEdits"]
        first = list(edits["env"])
        for n in range(self.calls[record.ref.uid]):
            edits["env"] += [text.replace("=", f"_{n + 2}=", 1) for text in first]
        return device

    def remove(self, ref: ClaimRef) -> None:
        super().remove(ref)
        self.calls.pop(ref.uid, None)


@fault("IDEM-007", "memoise the prepared devices by UID")
class RemembersDevices(Preparer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.memory: dict[str, Allocation] = {}

    def settle(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        return super().settle(ref, self.memory.get(ref.uid, allocation), call)

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        answer = super().first(ref, allocation, call)
        self.memory[ref.uid] = allocation
        return answer


@fault("CDI-001", "write the claim's device with empty containerEdits")
class EmptyEdits(CdiStore):
    def device(self, record: Record, held: Held) -> dict[str, Any]:
        return {**super().device(record, held), "containerEdits": {}}


@fault("CDI-002", "write the spec file 300 ms after the reply")
class LateSpec(CdiStore):
    """Only the first new spec of the process is late: every answer is judged, and no other case
    has to do with unresolved ids."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.lock = threading.Lock()
        self.late: tuple[ClaimRef, threading.Timer] | None = None
        self.repairing = False

    def write(self, record: Record) -> None:
        with self.lock:
            if self.late is not None or self.repairing:
                super().write(record)
                return
            timer = threading.Timer(LATE_SPEC_S, self._write_late, (record,))
            timer.daemon = True
            self.late = (record.ref, timer)
            timer.start()

    def _write_late(self, record: Record) -> None:
        with self.lock:
            if self.late is not None and self.late[1].finished.is_set():
                return
            super().write(record)

    def ensure(self, record: Record) -> None:
        if not self._pending(record.ref):
            self.repairing = True
            super().ensure(record)
            self.repairing = False

    def remove(self, ref: ClaimRef) -> None:
        with self.lock:
            if self.late is not None and self.late[0] == ref:
                self.late[1].cancel()
            super().remove(ref)

    def _pending(self, ref: ClaimRef) -> bool:
        with self.lock:
            return self.late is not None and self.late[0] == ref and self.late[1].is_alive()


@fault(
    "CDI-005", "write the claim's spec a second time under another file name in the same directory"
)
class WritesTwice(CdiStore):
    def write(self, record: Record) -> None:
        super().write(record)
        files.write(self._twin(record.ref), self.encode(self.spec(record)), mode=FILE_MODE)

    def remove(self, ref: ClaimRef) -> None:
        super().remove(ref)
        files.remove(self._twin(ref))

    def _twin(self, ref: ClaimRef) -> Path:
        return self.path(ref).with_suffix(".again.json")


@fault("CDI-010", "build the file name from namespace, claim name and UID without shortening")
class UnboundedName(CdiStore):
    def path(self, ref: ClaimRef) -> Path:
        if not ref.name:
            # All that a damaged checkpoint tells is the UID.
            return next(self.root.glob(f"{self.driver}-claim_*{ref.uid}.json"), super().path(ref))
        return self.root / f"{self.driver}-claim_{ref.namespace}_{ref.name}_{ref.uid}.json"

    def remove(self, ref: ClaimRef) -> None:
        try:
            super().remove(ref)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
