"""Faults of what claims are told of their devices, and of claims as such (STAT)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.apiserver import claim_path
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.statuses import Entry
from pytest_dra.fake_driver.statuses import Key
from pytest_dra.fake_driver.statuses import Statuses

PATCH_S: Final = 5.0
"""Longest wait for a write in the middle of a call."""

_EVERY_DEVICE = "write an entry for every device of the node"
_EVERY: set[tuple[str, str]] = set()
"""Pools and devices of the node, as far as this process has prepared claims."""


@fault("STAT-001", _EVERY_DEVICE)
class KnowsDevices(Preparer):
    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        pools = self.inventory.pools
        _EVERY.update((pool.name, device["name"]) for pool in pools for device in pool.devices)
        return super().first(ref, allocation, call)


@fault("STAT-001", _EVERY_DEVICE)
class TellsEveryDevice(Statuses):
    def entries(self, record: Record) -> tuple[Entry, ...]:
        model = super().entries(record)[0]
        return tuple({**model, "pool": pool, "device": name} for pool, name in sorted(_EVERY))

    def allocated(self, status: dict[str, Any]) -> set[Key]:
        return {(pool, name, "") for pool, name in _EVERY}


@fault("STAT-002", "replace the whole list by the own entries")
class ReplacesList(Statuses):
    def others(self, entries: Iterable[Entry]) -> list[Entry]:
        return []


@fault("STAT-003", "write an IP address without prefix length")
class BareAddress(Statuses):
    def network(self, held: Held) -> dict[str, Any]:
        return {**super().network(held), "ips": ["192.0.2.1"]}


@fault("STAT-005", "clear reservedFor on Unprepare")
class ClearsReservations(Preparer):
    """Whatever the API server answers is good enough."""

    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        super().unprepare(ref, call)
        api = self.claims.source
        if not isinstance(api, ApiServer):
            return
        path = f"{claim_path(ref.namespace, ref.name)}/status"
        try:
            claim = api.read_claim(ref.namespace, ref.name, timeout_s=PATCH_S)
            if claim["metadata"]["uid"] == ref.uid:
                body = {"status": {"reservedFor": None}}
                api.request("PATCH", path, body=body, timeout_s=PATCH_S)
        except (ApiError, KeyError):
            return


_FATAL = "treat the first failed status write as fatal for the claim, also on repeat"


@fault("STAT-006", _FATAL)
class InCalls(Statuses):
    """Tells nothing by itself of a claim that is prepared."""

    def prepared(self, record: Record) -> None:
        """The call does it."""


@fault("STAT-006", _FATAL)
class FatalStatus(Preparer):
    """A claim that has gone by then, or was changed, has not failed."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.failed: dict[str, ClaimError] = {}

    def settle(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        answer = super().settle(ref, allocation, call)
        statuses = self.statuses
        if ref.uid in self.failed:
            raise self.failed[ref.uid]
        known = self.ledger.get(ref)
        if statuses.active and known is not None:
            try:
                statuses.write(ref, statuses.entries(known))
            except ApiError as error:
                self.failed[ref.uid] = ClaimError(f"claim {ref}: the write failed: {error.status}")
                raise self.failed[ref.uid] from error
        return answer


@fault("STAT-007", "leave Ready=True")
class LeavesReady(Statuses):
    def released(self, record: Record) -> None:
        """Nothing is told."""
