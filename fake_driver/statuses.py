"""Tells claims what has become of their devices: entries of ``status.devices``.

Written beside the calls of the kubelet: what cannot be written does not keep a pod from starting.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
import threading
import time
from collections.abc import Iterable
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import CONFLICT
from pytest_dra.fake_driver.apiserver import NOT_FOUND
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.apiserver import claim_path
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.record import Record

FEATURE: Final = "status"
"""Of ``--features``: without it nothing is told."""

READY: Final = "Ready"

REQUEST_S: Final = 10.0
"""Longest wait for one answer."""

PAUSES_S: Final = (0.0, 0.2, 1.0, 5.0, 15.0)
"""Before each further try of what may pass; the status is additional information."""

BROKEN: Final = 500
"""From this status on an answer is no refusal."""

Entry = dict[str, Any]
Key = tuple[str, str, str]

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What a claim is to be told, not before ``due`` (monotonic), after so many tries."""

    entries: tuple[Entry, ...]
    due: float
    tries: int = 0


class Statuses:
    """Writes the entries of this driver, claim by claim, in a thread of its own."""

    def __init__(self, options: Options, api: ApiServer) -> None:
        self.options = options
        self.api = api
        self.active = FEATURE in options.features
        self._changed = threading.Condition()
        self._waiting: dict[ClaimRef, _Job] = {}
        self._thread: threading.Thread | None = None

    def prepared(self, record: Record) -> None:
        """The devices of a claim are ready."""
        if self.active:
            self.tell(record.ref, self.entries(record))

    def released(self, record: Record) -> None:
        """The devices of a claim are used no more."""
        if self.active:
            self.tell(record.ref, ())

    def entries(self, record: Record) -> tuple[Entry, ...]:
        """What is said of a prepared claim."""
        return tuple(self.entry(held) for held in record.allocation.held)

    def entry(self, held: Held) -> Entry:
        """What is said of one device."""
        made: Entry = {
            "driver": self.options.driver_name,
            "pool": held.pool,
            "device": held.device,
            **({"shareID": held.share_id} if held.share_id else {}),
            "conditions": [condition(READY, reason="Prepared")],
        }
        if held.pool.endswith(f"-{FEATURE}"):
            made["networkData"] = self.network(held)
            made["data"] = {"link": "up"}
        return made

    def network(self, held: Held) -> dict[str, Any]:
        """What a network interface looks like in a pod."""
        number = int(held.device.rpartition("-")[2])
        return {
            "interfaceName": f"net{number}",
            "hardwareAddress": f"02:00:00:00:00:{number:02x}",
            "ips": [f"192.0.2.{number + 1}/24", f"2001:db8::{number + 1}/64"],
        }

    def tell(self, ref: ClaimRef, entries: tuple[Entry, ...]) -> None:
        """Let the entries of a claim be these, as soon as that can be written."""
        self._plan(ref, _Job(entries=entries, due=time.monotonic()))

    def _plan(self, ref: ClaimRef, job: _Job, *, newest: bool = True) -> None:
        with self._changed:
            if newest or ref not in self._waiting:
                self._waiting[ref] = job
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="statuses", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                while (left_s := self._left_s()) is None or left_s > 0:
                    self._changed.wait(left_s)
                ref = min(self._waiting, key=lambda each: self._waiting[each].due)
                job = self._waiting.pop(ref)
            self._do(ref, job)

    def _left_s(self) -> float | None:
        """Until the next job is due; None if there is none."""
        due = [job.due for job in self._waiting.values()]
        return min(due) - time.monotonic() if due else None

    def _do(self, ref: ClaimRef, job: _Job) -> None:
        try:
            self.write(ref, job.entries)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return
            _log.warning("status of claim %s: %s", ref, error)
            passing = error.status in (0, CONFLICT) or error.status >= BROKEN
            if passing and job.tries < len(PAUSES_S):
                due = time.monotonic() + PAUSES_S[job.tries]
                again = dataclasses.replace(job, due=due, tries=job.tries + 1)
                self._plan(ref, again, newest=False)

    def write(self, ref: ClaimRef, entries: Iterable[Entry]) -> None:
        """Read the claim and write what differs; ApiError if that fails."""
        claim = self.api.read_claim(ref.namespace, ref.name, timeout_s=REQUEST_S)
        if (claim.get("metadata") or {}).get("uid") != ref.uid:
            return
        status = claim.get("status") or {}
        before = status.get("devices") or []
        allocated = self.allocated(status)
        told = {key_of(entry): entry for entry in entries if key_of(entry) in allocated}
        mine = {key_of(entry): entry for entry in before if self.is_mine(entry)}
        made = [merged(mine.get(key), told.get(key)) for key in dict.fromkeys([*mine, *told])]
        after = [*self.others(before), *(entry for entry in made if entry)]
        if without_times(after) != without_times(before):
            write_entries(self.api, claim["metadata"], after)

    def allocated(self, status: dict[str, Any]) -> set[Key]:
        """The devices of this driver that the claim holds."""
        return {key_of(result) for result in results_of(status) if self.is_mine(result)}

    def others(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries of other drivers, which stay as they are."""
        return [entry for entry in entries if not self.is_mine(entry)]

    def is_mine(self, entry: Entry) -> bool:
        """True for an entry or an allocation result of this driver."""
        return bool(entry.get("driver") == self.options.driver_name)


def write_entries(api: ApiServer, meta: dict[str, Any], entries: list[Entry]) -> None:
    """Let the entries of the claim be these, if it is still as it was read; ApiError if not.

    Nothing else is sent: an allocation that is encoded in another way is another one.
    """
    seen = {name: meta[name] for name in ("uid", "resourceVersion") if name in meta}
    path = f"{claim_path(meta['namespace'], meta['name'])}/status"
    body = {"metadata": seen, "status": {"devices": entries}}
    api.request("PATCH", path, body=body, timeout_s=REQUEST_S)


def condition(kind: str, *, value: bool = True, reason: str) -> dict[str, Any]:
    """One condition of a device, as of now."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "type": kind,
        "status": str(value),
        "reason": reason,
        "message": "",
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def results_of(status: dict[str, Any]) -> list[dict[str, Any]]:
    """What a claim with this status has been allocated, of all drivers."""
    return ((status.get("allocation") or {}).get("devices") or {}).get("results") or []


def key_of(entry: Entry) -> Key:
    """What an entry or an allocation result is about."""
    return str(entry["pool"]), str(entry["device"]), str(entry.get("shareID") or "")


def merged(before: Entry | None, told: Entry | None) -> Entry | None:
    """An entry with what is told of it; conditions of other kinds stay. None: there is none."""
    kept = [
        each
        for each in (before or {}).get("conditions") or []
        if each["type"] not in kinds(told) and (told is not None or each["type"] != READY)
    ]
    if told is not None:
        return {**(before or {}), **told, "conditions": [*kept, *told.get("conditions", [])]}
    if not kept or before is None:
        return None
    return {**place(before), "conditions": kept}


def kinds(entry: Entry | None) -> set[str]:
    """The types of an entry's conditions."""
    return {each["type"] for each in (entry or {}).get("conditions") or []}


def place(entry: Entry) -> Entry:
    """The part of an entry or an allocation result that says what it is about."""
    names = ("driver", "pool", "device", "shareID")
    return {name: entry[name] for name in names if entry.get(name)}


def without_times(entries: Iterable[Entry]) -> list[Entry]:
    """The entries apart from when their conditions changed."""
    return [
        {
            **entry,
            "conditions": [
                {name: value for name, value in each.items() if name != "lastTransitionTime"}
                for each in entry.get("conditions") or []
            ],
        }
        for entry in entries
    ]
