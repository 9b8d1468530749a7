"""Attaches devices before their claims are bound, and says so in the claims' conditions.

It looks at every claim, those of before its start included; what it knows stands in the API server.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import CONFLICT
from pytest_dra.fake_driver.apiserver import GONE
from pytest_dra.fake_driver.apiserver import NOT_FOUND
from pytest_dra.fake_driver.apiserver import RESOURCE_API
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.apiserver import list_all
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.statuses import Entry
from pytest_dra.fake_driver.statuses import Key
from pytest_dra.fake_driver.statuses import condition
from pytest_dra.fake_driver.statuses import key_of
from pytest_dra.fake_driver.statuses import merged
from pytest_dra.fake_driver.statuses import place
from pytest_dra.fake_driver.statuses import results_of
from pytest_dra.fake_driver.statuses import without_times
from pytest_dra.fake_driver.statuses import write_entries

FEATURE: Final = "conditions"
"""Of ``--features``: without it there is nothing to attach."""

CLAIMS: Final = f"{RESOURCE_API}/resourceclaims"

ATTACH_S: Final = 0.1
"""How long it takes to attach a device."""

WATCH_S: Final = 290.0
REQUEST_S: Final = 10.0
PAUSE_S: Final = 0.5
"""Length of a watch, longest wait for one answer, and pause after a failure."""

MALFORMED: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What is raised where an object is not of the form that it should have."""

_log = logging.getLogger(__name__)

Result = dict[str, Any]


class Binder:
    """Follows the claims of the cluster; acts on results for devices of this node."""

    def __init__(self, options: Options, api: ApiServer, inventory: Inventory) -> None:
        self.options = options
        self.api = api
        self.inventory = inventory
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._busy: set[tuple[str, Key]] = set()

    def start(self) -> None:
        """Begin, if there is anything to attach."""
        if FEATURE in self.options.features:
            threading.Thread(target=self.run, name="binder", daemon=True).start()

    def run(self) -> None:
        """Follow claims until the driver stops."""
        pause_s = 0.0
        while not self.stopping.wait(pause_s):
            pause_s = PAUSE_S
            try:
                self.follow()
            except ApiError as error:
                pause_s = 0.0 if error.status == GONE else PAUSE_S
            except MALFORMED:
                _log.exception("an answer of the API server makes no sense")

    def follow(self) -> None:
        """Look at all claims, and at each that changes, until the server ends the watch."""
        found, version = list_all(self.api, CLAIMS, timeout_s=REQUEST_S)
        for claim in found:
            self.look(claim)
        query = {"resourceVersion": version, "allowWatchBookmarks": "true"}
        for event in self.api.watch(CLAIMS, query, timeout_s=WATCH_S):
            if self.stopping.is_set():
                return
            if event.get("type") in ("ADDED", "MODIFIED"):
                self.look(event["object"])

    def look(self, claim: dict[str, Any]) -> None:
        """Attach what a claim waits for."""
        for result in self.waiting(claim):
            key = (str(claim["metadata"]["uid"]), key_of(result))
            with self._lock:
                if key in self._busy:
                    continue
                self._busy.add(key)
            threading.Thread(target=self._work, args=(claim, result, key), daemon=True).start()

    def waiting(self, claim: dict[str, Any]) -> list[Result]:
        """Results for devices of this node of which no condition has come true yet."""
        status = claim.get("status") or {}
        told = {
            key_of(entry): entry for entry in status.get("devices") or [] if self.is_mine(entry)
        }
        return [
            result
            for result in results_of(status)
            if self.is_mine(result)
            and result.get("bindingConditions")
            and self.inventory.has(str(result["pool"]), str(result["device"]))
            and not _is_settled(result, told.get(key_of(result), {}))
        ]

    def is_mine(self, entry: Entry) -> bool:
        """True for an entry or an allocation result of this driver."""
        return bool(entry.get("driver") == self.options.driver_name)

    def _work(self, claim: dict[str, Any], result: Result, key: tuple[str, Key]) -> None:
        try:
            self.attach(claim, result)
        except MALFORMED:
            _log.exception("claim %s makes no sense", key[0])
        finally:
            with self._lock:
                self._busy.discard(key)

    def attach(self, claim: dict[str, Any], result: Result) -> None:
        """Attach one device, and tell so step by step."""
        kinds = result["bindingConditions"]
        self.tell(claim, result, dict.fromkeys(kinds, False), reason="Attaching")
        self.stopping.wait(ATTACH_S)
        if result["device"] in self.options.faulty():
            self.fail(claim, result)
            return
        for kind in self.to_meet(result):
            self.tell(claim, result, {kind: True}, reason="Attached")

    def to_meet(self, result: Result) -> list[str]:
        """The conditions that come true, one after the other."""
        return list(result["bindingConditions"])

    def fail(self, claim: dict[str, Any], result: Result) -> None:
        """Tell that a device cannot be attached."""
        kinds = result.get("bindingFailureConditions") or []
        self.tell(claim, result, dict.fromkeys(kinds[:1], True), reason="Broken")

    def tell(
        self, claim: dict[str, Any], result: Result, values: dict[str, bool], *, reason: str
    ) -> None:
        """Write conditions, again and again; not any more once the claim holds something else."""
        conditions = [condition(kind, value=value, reason=reason) for kind, value in values.items()]
        while not self.stopping.is_set():
            try:
                self.write(claim["metadata"], result, conditions)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return
                _log.warning("conditions of claim %s: %s", claim["metadata"]["name"], error)
                self.stopping.wait(0.0 if error.status == CONFLICT else PAUSE_S)
            else:
                return

    def write(self, meta: dict[str, Any], result: Result, conditions: list[dict[str, Any]]) -> None:
        """Write conditions of one device, if the claim still holds it; ApiError if that fails."""
        claim = self.api.read_claim(meta["namespace"], meta["name"], timeout_s=REQUEST_S)
        if claim["metadata"]["uid"] != meta["uid"]:
            return
        status = claim.get("status") or {}
        results = results_of(status)
        if key_of(result) not in {key_of(each) for each in results if self.is_mine(each)}:
            return
        before = status.get("devices") or []
        after = changed(before, self.target(results, result), conditions)
        if without_times(after) != without_times(before):
            write_entries(self.api, claim["metadata"], after)

    def target(self, results: list[Result], result: Result) -> Result:
        """The result under which the conditions of one are written: its own."""
        return result


def changed(
    entries: Iterable[Entry], result: Result, conditions: list[dict[str, Any]]
) -> list[Entry]:
    """Entries with these conditions in the one of a result."""
    told = {**place(result), "conditions": conditions}
    made = list(entries)
    for n, entry in enumerate(made):
        if place(entry) == place(result):
            made[n] = merged(entry, told) or entry
            return made
    return [*made, told]


def _is_settled(result: Result, entry: Entry) -> bool:
    """True if all binding conditions are met, or a failure is told."""
    true = {each["type"] for each in entry.get("conditions") or [] if each["status"] == "True"}
    failures = set(result.get("bindingFailureConditions") or [])
    return set(result["bindingConditions"]) <= true or bool(failures & true)
