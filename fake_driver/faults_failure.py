"""Faults of what fails, is given up or takes long, and of what comes after it (PREP, UNP)."""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.apiserver import RESOURCE_API
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import ClaimGoneError
from pytest_dra.fake_driver.errors import UnknownDeviceError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.health import Health
from pytest_dra.fake_driver.ledger import DAMAGED
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

TOO_LONG_S: Final = 41.0
SLOW_CALL: Final = 3
"""The call that is slow, and how slow, as the texts of PREP-015 and UNP-013 have it."""

LOOK_S: Final = 0.02
"""How often a caller is looked after that may have gone away."""

PATCH_S: Final = 10.0
"""Longest wait for the API server in an Unprepare."""

_log = logging.getLogger(__name__)


@fault(
    "PREP-013",
    "reserve the device for the claim before writing CDI, and keep the reservation on failure",
)
class KeepsReservation(Preparer):
    """Until the claim is prepared or unprepared after all."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.reserved: dict[str, Allocation] = {}

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        try:
            answer = super().first(ref, allocation, call)
        except OSError:
            self.reserved[ref.uid] = allocation
            raise
        self.reserved.pop(ref.uid, None)
        return answer

    def check_free(self, ref: ClaimRef, held: Held, call: Call) -> None:
        for uid, allocation in self.reserved.items():
            if uid != ref.uid and any(held.excludes(taken) for taken in allocation.held):
                raise ClaimError(f"claim {ref}: device {held.device!r} is reserved for UID {uid}")
        super().check_free(ref, held, call)

    def release(self, ref: ClaimRef, call: Call) -> None:
        super().release(ref, call)
        self.reserved.pop(ref.uid, None)


@fault("PREP-014", "remember a failed claim and answer its first error for ever")
class RemembersFailure(Preparer):
    """Failed for want of the API server or of a file; a refused claim has not failed."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.failed: dict[str, ClaimError] = {}

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        if ref.uid in self.failed:
            raise ClaimError(str(self.failed[ref.uid]))
        try:
            return super().prepare(ref, call)
        except ClaimGoneError:
            raise
        except ClaimError as error:
            if isinstance(error.__cause__, (OSError, ApiError)):
                self.failed[ref.uid] = error
            raise


@fault(
    "PREP-016",
    "run Prepare in a detached thread that goes on after cancellation and writes CDI and state",
)
class Detached(Preparer):
    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        ref.check()
        result: Future[tuple[Prepared, ...]] = Future()
        threading.Thread(target=self._work, args=(ref, call, result), daemon=True).start()
        while call.active():
            try:
                return result.result(timeout=LOOK_S)
            except NotYet:
                continue
        raise ClaimError(f"claim {ref}: the caller has gone away")

    def _work(self, ref: ClaimRef, call: Call, result: Future[tuple[Prepared, ...]]) -> None:
        try:
            result.set_result(self._prepared(ref, dataclasses.replace(call, left_s=lambda: None)))
        except OSError as error:
            result.set_exception(ClaimError(f"claim {ref}: {error.strerror} ({error.filename})"))
        except ClaimError as error:
            result.set_exception(error)

    def _prepared(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        allocation = self.allocation(ref, call)
        with self.locks.of(ref.uid), self.ledger.exclusive():
            return self.settle(ref, allocation, call)


@fault("PREP-021", "return the text `error` for an unknown device")
class SaysError(Preparer):
    def check(self, ref: ClaimRef, allocation: Allocation, call: Call) -> None:
        try:
            super().check(ref, allocation, call)
        except UnknownDeviceError as error:
            raise UnknownDeviceError("error") from error


class Tired(DraService):
    """Has one slow call: the third of a method, of a process that began on empty directories."""

    def __init__(self, preparer: Preparer, health: Health) -> None:
        super().__init__(preparer, health)
        self.is_first = not preparer.ledger.directory.exists()
        self.calls = 0

    def tire(self, refs: Sequence[ClaimRef]) -> None:
        """Take long if it is the slow call; empty ones do not count."""
        self.calls += bool(refs)
        if refs and self.is_first and self.calls == SLOW_CALL:
            threading.Event().wait(TOO_LONG_S)


@fault(
    "PREP-015",
    "sleep 41 s in the third Prepare of a process that began without a data directory",
)
class SlowPrepare(Tired):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        self.tire(refs)
        return super().prepare(refs, call, context)


@fault(
    "UNP-013",
    "sleep 41 s in the third Unprepare of a process that began without a data directory",
)
class SlowUnprepare(Tired):
    def unprepare(self, refs: Sequence[ClaimRef], call: Call) -> Mapping[str, str]:
        self.tire(refs)
        return super().unprepare(refs, call)


@fault("UNP-007", "release the device first, swallow the removal error and answer OK")
class SwallowsRemoval(Preparer):
    def release(self, ref: ClaimRef, call: Call) -> None:
        self.ledger.forget(ref)
        try:
            self.cdi.remove(ref)
        except OSError as error:
            _log.warning("claim %s: its spec stays: %s", ref, error)


@fault("UNP-008", "answer a claim error `not fully prepared`")
class NotFullyPrepared(Preparer):
    """For a claim whose Prepare failed for want of a file and was not repeated."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.half: set[str] = set()

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        try:
            answer = super().first(ref, allocation, call)
        except OSError:
            self.half.add(ref.uid)
            raise
        self.half.discard(ref.uid)
        return answer

    def release(self, ref: ClaimRef, call: Call) -> None:
        if ref.uid in self.half:
            raise ClaimError(f"claim {ref}: not fully prepared")
        super().release(ref, call)


@fault("UNP-010", "raise a JSON error on every Unprepare while a checkpoint is damaged")
class RaisesOnDamage(Preparer):
    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        with self.ledger.exclusive():
            damaged = sorted(self.ledger.directory.glob(f"*{DAMAGED}"))
        for path in damaged:
            json.loads(files.read(path))
        super().unprepare(ref, call)


@fault("UNP-011", "patch the claim's status as a compulsory step")
class PatchesStatus(Preparer):
    """Of a prepared claim. Whatever the API server answers is good enough."""

    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        with self.ledger.exclusive():
            known = self.ledger.get(ref)
        if known is not None:
            self._patch(known)
        super().unprepare(ref, call)

    def _patch(self, known: Record) -> None:
        api, ref = self.claims.source, known.ref
        if not isinstance(api, ApiServer) or not known.whole:
            return
        path = f"{RESOURCE_API}/namespaces/{ref.namespace}/resourceclaims/{ref.name}/status"
        try:
            api.request("PATCH", path, body={"status": {}}, timeout_s=PATCH_S)
        except ApiError as error:
            if not error.status:
                raise ClaimError(f"claim {ref}: its status cannot be patched: {error}") from error


@fault(
    "UNP-012",
    "keep the reservation of an unknown claim over restarts, "
    "without looking whether the claim still exists",
)
class NeverAbandons(Preparer):
    def is_abandoned(self, record: Record) -> bool:
        return False
