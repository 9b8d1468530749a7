"""Faults of what several claims have of one device: shares and partitions (CAP, PART)."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.partitions import Partitions
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.room import Room
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService


@fault("CAP-002", "check exclusivity without regard to allowMultipleAllocations")
class OneHolder(Ledger):
    def in_use(self, ref: ClaimRef, held: Held) -> Record | None:
        alone = dataclasses.replace(held, share_id="")
        return super().in_use(ref, alone)


@fault("CAP-003", "key prepared state by device, so that the release of one share removes all")
class ReleasesAll(Preparer):
    def release(self, ref: ClaimRef, call: Call) -> None:
        known = self.ledger.get(ref)
        super().release(ref, call)
        if known is None:
            return
        shares = {(one.pool, one.device) for one in known.allocation.held if one.share_id}
        for other in self.ledger.others(ref):
            if any((one.pool, one.device) in shares for one in other.allocation.held):
                super().release(other.ref, call)


@fault("CAP-004", "apply the amount of the request")
class AsAsked(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        allocation = super().held(ref, claim)
        asked = {
            str(request["name"]): request["exactly"]["capacity"]["requests"]
            for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ()
            if (request.get("exactly") or {}).get("capacity")
        }
        held = tuple(self._as_asked(one, asked) for one in allocation.held)
        return dataclasses.replace(allocation, held=held)

    def _as_asked(self, one: Held, asked: dict[str, dict[str, str]]) -> Held:
        more = asked.get(one.requests[0], {})
        amounts = [(name, str(more.get(name, amount))) for name, amount in one.consumed]
        return dataclasses.replace(one, consumed=tuple(amounts))


@fault("CAP-005", "index the results by pool and device, so that the second replaces the first")
class ByDevice(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        allocation = super().held(ref, claim)
        shares = {(one.pool, one.device): one for one in allocation.held if one.share_id}
        kept = [
            one
            for one in allocation.held
            if not one.share_id or shares[(one.pool, one.device)] is one
        ]
        return dataclasses.replace(allocation, held=tuple(kept))


_BY_USE: Final = "derive the policy from current use"

USED: Final[set[str]] = set()
"""Claims that have a share at the moment."""


@fault("CAP-006", _BY_USE)
class CountsShares(Preparer):
    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> Any:
        answer = super().first(ref, allocation, call)
        if any(held.share_id for held in allocation.held):
            USED.add(ref.uid)
        return answer

    def release(self, ref: ClaimRef, call: Call) -> None:
        super().release(ref, call)
        USED.discard(ref.uid)


@fault("CAP-006", _BY_USE)
class PolicyByUse(Publisher):
    """What is left is all that a policy allows, from the next publication on."""

    def repair_pool(self, key: tuple[str, str]) -> None:
        kept = self.wanted.get(key)
        if kept is not None and USED:
            specs = copy.deepcopy(kept.specs)
            for spec in specs:
                for device in spec.get("devices") or []:
                    for value in (device.get("capacity") or {}).values():
                        value.pop("requestPolicy", None)
            self.wanted[key] = dataclasses.replace(kept, specs=specs)
        try:
            super().repair_pool(key)
        finally:
            if kept is not None:
                self.wanted[key] = kept


@fault("CAP-007", "compare share ids only, treating a missing one as free")
class MissingIsFree(Ledger):
    def in_use(self, ref: ClaimRef, held: Held) -> Record | None:
        for other in self.others(ref):
            for taken in other.allocation.held:
                if held.excludes(taken) and bool(held.share_id) == bool(taken.share_id):
                    return other
        return None


class NoSum(Room):
    """Does not add up what shares consume."""

    def of_shares(self, held: Held, others: Iterable[Held]) -> str:
        return ""


@fault("CAP-008", "no sum check")
class Overcommits(Preparer):
    def room(self) -> Room:
        return NoSum(self.inventory)


@fault("CAP-009", "leave share_id unset")
class NoShareId(DraService):
    def prepare(self, refs: Sequence[ClaimRef], call: Call, context: Any) -> Mapping[str, Answer]:
        answers = super().prepare(refs, call, context)
        return {
            uid: answer
            if isinstance(answer, ClaimError)
            else tuple(dataclasses.replace(one, share_id="") for one in answer)
            for uid, answer in answers.items()
        }


class NoGroups(Room):
    """Does not look at compatibility groups."""

    def are_incompatible(self, entries: list[dict[str, Any]]) -> bool:
        return False


@fault("PART-007", "leave the partition on Unprepare")
class LeavesPartition(Partitions):
    def remove(self, ref: ClaimRef) -> None:
        """The next start finds it."""


@fault("PART-008", "accept any combination")
class AcceptsAnyGroups(Preparer):
    def room(self) -> Room:
        return NoGroups(self.inventory)


@fault("PART-009", "send the field in each publication, for ever")
class SendsGroups(Publisher):
    def leave_out_groups(self) -> None:
        """Nothing is left out."""


class NoCounters(Room):
    """Does not look at what devices consume together."""

    def of_counters(self, held: Held, others: Iterable[Held]) -> str:
        return ""


@fault("PART-010", "check exclusivity by device name only")
class ByName(Preparer):
    def room(self) -> Room:
        return NoCounters(self.inventory)
