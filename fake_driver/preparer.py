"""Prepare and Unprepare of single claims: the order of reading, checking, writing and forgetting.

Prepare writes the CDI spec, then the checkpoint: after a crash in between the claim is unknown,
and both a new Prepare and an Unprepare put it right, as the spec's path follows from the UID.
Unprepare removes in the same order: after a crash in between the claim is still known.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
from collections.abc import Callable
from collections.abc import Iterator

from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import UnknownDeviceError
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.metadata import Metadata
from pytest_dra.fake_driver.partitions import Partitions
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.room import Room
from pytest_dra.fake_driver.statuses import Statuses

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The call that names a claim: how many claims it has, and whether its caller still waits."""

    size: int = 1
    active: Callable[[], bool] = lambda: True
    left_s: Callable[[], float | None] = lambda: None

    @property
    def alone(self) -> bool:
        """True if the claim is the only one of its call."""
        return self.size == 1


class ClaimLocks:
    """One lock for each claim that is being worked on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}

    @contextlib.contextmanager
    def of(self, uid: str) -> Iterator[None]:
        """Work on claim ``uid`` alone."""
        with self._lock:
            lock, users = self._held.get(uid, (threading.Lock(), 0))
            self._held[uid] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, users = self._held.pop(uid)
                if users > 1:
                    self._held[uid] = (lock, users - 1)


class Preparer:
    """Serves claims: one at a time each, different ones in parallel as far as the API is asked."""

    def __init__(
        self,
        inventory: Inventory,
        claims: Claims,
        ledger: Ledger,
        cdi: CdiStore,
        metadata: Metadata,
        partitions: Partitions,
        statuses: Statuses,
    ) -> None:
        self.inventory = inventory
        self.claims = claims
        self.ledger = ledger
        self.cdi = cdi
        self.metadata = metadata
        self.partitions = partitions
        self.statuses = statuses
        self.locks = ClaimLocks()

    def open(self) -> None:
        """Tidy up what a predecessor has left of claims that are not prepared; OSError."""
        if self.partitions.active:
            with self.ledger.exclusive():
                self.partitions.open({record.ref.uid for record in self.ledger.all()})

    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        """Prepare a claim, or answer for a prepared one as before; ClaimError if it is refused."""
        ref.check()
        with self.locks.of(ref.uid):
            allocation = self.allocation(ref, call)
            if not call.active():
                raise ClaimError(f"claim {ref}: the caller has gone away")
            try:
                with self.ledger.exclusive():
                    return self.settle(ref, allocation, call)
            except OSError as error:
                raise ClaimError(
                    f"claim {ref}: {error.strerror} ({error.filename}); free the path and try again"
                ) from error

    def allocation(self, ref: ClaimRef, call: Call) -> Allocation:
        """What the claim holds of this driver at this moment."""
        return self.claims.allocation(ref, left_s=call.left_s())

    def settle(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        """The part of Prepare that reads and changes state."""
        known = self.ledger.get(ref)
        if known is None or not known.whole:
            return self.first(ref, allocation, call)
        if not known.allocation.same_devices(allocation):
            raise ClaimError(f"claim {ref} was prepared for another allocation; unprepare it first")
        named = dataclasses.replace(known.allocation, pod_claim=allocation.pod_claim)
        return self.again(dataclasses.replace(known, allocation=named))

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        """Prepare a claim that is not prepared."""
        self.check(ref, allocation, call)
        record = Record(ref=ref, allocation=allocation)
        try:
            self.partitions.make(ref, allocation)
            self.cdi.write(record)
            self.metadata.write(record, self.inventory)
            self.ledger.put(record)
        except OSError:
            for undo in (self.cdi.remove, self.metadata.remove, self.partitions.remove):
                with contextlib.suppress(OSError):
                    undo(ref)
            raise
        _log.info("prepared claim %s: %d devices", ref, len(allocation.held))
        self.statuses.prepared(record)
        return self.answer(record)

    def answer(self, record: Record) -> tuple[Prepared, ...]:
        """The devices of a prepared claim, with all their ids."""
        return self.metadata.added(record.ref, record.answer(self.cdi.kind))

    def check(self, ref: ClaimRef, allocation: Allocation, call: Call) -> None:
        """ClaimError if a device of the allocation does not exist or cannot be had."""
        for held in allocation.held:
            if not self.inventory.has(held.pool, held.device):
                raise UnknownDeviceError(
                    f"claim {ref}: there is no device {held.device!r} in pool {held.pool!r}"
                )
            self.check_free(ref, held, call)
            self.check_room(ref, held, allocation)

    def check_room(self, ref: ClaimRef, held: Held, allocation: Allocation) -> None:
        """ClaimError if the device has not enough of what it has in common with others."""
        others = [taken for record in self.ledger.others(ref) for taken in record.allocation.held]
        mine = [taken for taken in allocation.held if taken is not held]
        problem = self.room().problem(held, [*mine, *others])
        if problem:
            raise ClaimError(f"claim {ref}: {problem}")

    def room(self) -> Room:
        """What is left of devices and counters."""
        return Room(self.inventory)

    def check_free(self, ref: ClaimRef, held: Held, call: Call) -> None:
        """ClaimError if another claim has the device and does not share it."""
        other = self.ledger.in_use(ref, held)
        while other is not None:
            if self.is_abandoned(other):
                _log.warning("claim %s exists no more and was never unprepared", other.ref)
                self.release(other.ref, call)
                other = self.ledger.in_use(ref, held)
                continue
            raise ClaimError(
                f"claim {ref}: device {held.device!r} of pool {held.pool!r} is in use by claim "
                f"{other.ref}"
            )

    def is_abandoned(self, record: Record) -> bool:
        """True for a claim from before our start that has disappeared from the API since.

        One that we prepared ourselves may still have containers: its Unprepare is to come.
        """
        if not record.whole or record.ref.uid not in self.ledger.taken_over:
            return False
        return self.claims.gone(record.ref)

    def again(self, record: Record) -> tuple[Prepared, ...]:
        """Answer for a claim that is prepared."""
        self.cdi.ensure(record)
        self.metadata.ensure(record, self.inventory)
        return self.answer(record)

    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        """Release a claim; nothing to do is a success. ClaimError if it could not be released."""
        if not ref.uid or not ref.name or not ref.namespace:
            raise ClaimError(f"claim {ref}: namespace, name or UID is missing")
        try:
            ref.check()
        except ClaimError:
            return
        with self.locks.of(ref.uid):
            try:
                with self.ledger.exclusive():
                    self.release(ref, call)
            except OSError as error:
                raise ClaimError(
                    f"claim {ref}: {error.strerror} ({error.filename}); free the path and try again"
                ) from error

    def release(self, ref: ClaimRef, call: Call) -> None:
        """The part of Unprepare that changes state: by UID alone, without looking at the API."""
        known = self.ledger.get(ref)
        self.cdi.remove(ref)
        self.metadata.remove(ref)
        self.partitions.remove(ref)
        self.ledger.forget(ref)
        if known is not None:
            _log.info("unprepared claim %s", ref)
            self.statuses.released(known)
