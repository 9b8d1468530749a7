"""Faults of how pods ask for devices: alternatives, admin access, shared claims (PRIO, ADM,
SHARE)."""

from __future__ import annotations

import copy
import dataclasses
import threading
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.opaque import Configs
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record


@fault("PRIO-001", "look up `gpu/big` among the names in spec.requests and fail")
class WholeName(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        allocation = super().held(ref, claim)
        for result in self.own(claim["status"]["allocation"]["devices"]["results"]):
            name = result.get("request", "")
            if "/" in name and name not in self.names(claim):
                raise ClaimError(f"claim {ref}: there is no request {name!r}")
        return allocation

    def names(self, claim: dict[str, Any]) -> set[str]:
        """Names of the requests."""
        requests = ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ()
        return {request["name"] for request in requests}


@fault("PRIO-002", "return `gpu/big` as it stands in the result")
class AsItStands(Claims):
    def one(self, result: dict[str, Any], configs: Configs) -> Held:
        return dataclasses.replace(super().one(result, configs), requests=(result["request"],))


@fault("PRIO-003", "match blocks by the main name only and take the last")
class MainNameOnly(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        found = copy.deepcopy(claim)
        devices = ((found.get("status") or {}).get("allocation") or {}).get("devices") or {}
        for entry in devices.get("config") or ():
            entry["requests"] = [one.partition("/")[0] for one in entry.get("requests") or ()]
        return super().held(ref, found)


@fault("ADM-001", "apply the exclusivity check to admin results")
class NoExemption(Ledger):
    def in_use(self, ref: ClaimRef, held: Held) -> Record | None:
        return super().in_use(ref, dataclasses.replace(held, admin=False))


@fault("ADM-002", "tear the device down on each Unprepare that names it")
class TearsDown(Preparer):
    def release(self, ref: ClaimRef, call: Call) -> None:
        known = self.ledger.get(ref)
        super().release(ref, call)
        named = (
            {(one.pool, one.device) for one in known.allocation.held if one.admin} if known else ()
        )
        for other in self.ledger.others(ref):
            if any((one.pool, one.device) in named for one in other.allocation.held):
                super().release(other.ref, call)


@fault("ADM-003", "mark the device in use for admin results")
class Occupies(Ledger):
    def in_use(self, ref: ClaimRef, held: Held) -> Record | None:
        for other in self.others(ref):
            for taken in other.allocation.held:
                if held.excludes(dataclasses.replace(taken, admin=False)):
                    return other
        return None


ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"

NAMESPACE_S: Final = 5.0
"""Longest look at a namespace."""


@fault("ADM-004", "grant the privileged edits when the namespace has the admin label")
class ByLabel(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        found = copy.deepcopy(claim)
        allocation = (found.get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or ():
            if self.is_labelled(ref.namespace):
                result["adminAccess"] = True
        return super().held(ref, found)

    def is_labelled(self, namespace: str) -> bool:
        """True if admin access may be asked for in a namespace."""
        if not isinstance(self.source, ApiServer):
            return False
        path = f"/api/v1/namespaces/{namespace}"
        found = self.source.request("GET", path, timeout_s=NAMESPACE_S)
        return (found["metadata"].get("labels") or {}).get(ADMIN_LABEL) == "true"


@fault("ADM-005", "cap the response at one device")
class OneForAdmins(Preparer):
    def settle(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        answer = super().settle(ref, allocation, call)
        return answer[:1] if all(held.admin for held in allocation.held) else answer


WATCHED_S: Final = 60.0
"""A claim is watched no longer."""

LOOK_S: Final = 0.2
"""Pause between two looks at a claim."""


@fault("SHARE-005", "watch the claim and release the device when its reservedFor list shrinks")
class WatchesConsumers(Preparer):
    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        answer = super().first(ref, allocation, call)
        threading.Thread(target=self.watch, args=(ref, call), daemon=True).start()
        return answer

    def watch(self, ref: ClaimRef, call: Call) -> None:
        """Look at the claim until it has fewer consumers than before."""
        before: Sequence[Any] = ()
        for _ in range(int(WATCHED_S / LOOK_S)):
            try:
                claim = self.claims.get(ref, left_s=None)
            except ClaimError:
                return
            now = (claim.get("status") or {}).get("reservedFor") or ()
            if len(now) < len(before):
                with self.locks.of(ref.uid), self.ledger.exclusive():
                    self.release(ref, call)
                return
            before = now
            if threading.Event().wait(LOOK_S):
                return
