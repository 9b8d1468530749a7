"""Faults of devices that are attached before they are bound (BIND)."""

from __future__ import annotations

from typing import Any

from pytest_dra.fake_driver.binder import Binder
from pytest_dra.fake_driver.binder import Result
from pytest_dra.fake_driver.faults import fault


@fault("BIND-002", "never set the second condition")
class FirstConditionOnly(Binder):
    def to_meet(self, result: Result) -> list[str]:
        return super().to_meet(result)[:1]


@fault("BIND-003", "stay silent on failure")
class Silent(Binder):
    def fail(self, claim: dict[str, Any], result: Result) -> None:
        """Nothing is told."""


@fault("BIND-004", "always write to the first entry")
class FirstEntry(Binder):
    def target(self, results: list[Result], result: Result) -> Result:
        return results[0]


@fault("BIND-005", "cache readiness by claim UID")
class CachesReadiness(Binder):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.ready: set[str] = set()

    def attach(self, claim: dict[str, Any], result: Result) -> None:
        uid = claim["metadata"]["uid"]
        if uid not in self.ready:
            super().attach(claim, result)
            self.ready.add(uid)
            return
        kinds = dict.fromkeys(result["bindingConditions"], True)
        self.tell(claim, result, kinds, reason="Attached")


@fault("BIND-006", "react only to the change from no allocation to an allocation")
class ChangesOnly(Binder):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.unallocated: set[str] = set()

    def look(self, claim: dict[str, Any]) -> None:
        uid = claim["metadata"]["uid"]
        if not (claim.get("status") or {}).get("allocation"):
            self.unallocated.add(uid)
        elif uid in self.unallocated:
            self.unallocated.discard(uid)
            super().look(claim)
