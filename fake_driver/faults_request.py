"""Faults of how the driver takes a request: which claim, which consumers, which version (PREP)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import ClaimGoneError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.health import Health
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

OWN_PATTERN: Final = re.compile(r"[a-z]+-?[a-z0-9]*")
"""What PREP-018 takes for a request name: one word, perhaps with a number."""

V1BETA1: Final = "v1beta1.DRAPlugin"

_log = logging.getLogger(__name__)


@fault("PREP-008", "answer OK with no devices when the claim is not found")
class AcceptsUnknownClaim(Preparer):
    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        try:
            return super().prepare(ref, call)
        except ClaimGoneError:
            return ()


@fault("PREP-009", "compare only namespace and name")
class NoCheckOfUid(Claims):
    def check_uid(self, ref: ClaimRef, claim: dict[str, Any]) -> None:
        pass


@fault("PREP-018", "accept only request names that match the driver's own pattern")
class OwnRequestNames(Claims):
    def own(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for result in results:
            request = str(result.get("request", "")).partition("/")[0]
            if not OWN_PATTERN.fullmatch(request):
                raise ClaimError(f"request {request!r} is none of this driver's")
        return super().own(results)


@fault("PREP-019", "raise an index error on an empty list")
class LooksAtFirst(DraService):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        _log.debug("Prepare from %s on", refs[0])
        return super().prepare(refs, call, context)

    def unprepare(self, refs: Sequence[ClaimRef], call: Call) -> Mapping[str, str]:
        _log.debug("Unprepare from %s on", refs[0])
        return super().unprepare(refs, call)


@fault("PREP-020", "keep each claim it has read for ever, by UID, and never ask again")
class KeepsClaims(Claims):
    """A claim that could not be served as it was read is asked for again."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.kept: dict[str, dict[str, Any]] = {}

    def allocation(self, ref: ClaimRef, *, left_s: float | None) -> Allocation:
        if ref.uid in self.kept:
            return self.held(ref, self.kept[ref.uid])
        claim = self.get(ref, left_s=left_s)
        self.check_uid(ref, claim)
        found = self.held(ref, claim)
        self.kept[ref.uid] = claim
        return found


@fault("PREP-022", "prepare such claims silently (profile with MultiPodClaim off)")
class ServesAnyConsumers(Claims):
    """The part of the plain driver, in place of that of variant V11."""


@fault("PREP-024", "keep one set of prepared claims per API version")
class SetPerVersion(DraService):
    """The second set, that of v1beta1, is made when it is first needed."""

    def __init__(self, preparer: Preparer, health: Health) -> None:
        super().__init__(preparer, health)
        self.beta: DraService | None = None

    def handler(self, version: str) -> grpc.GenericRpcHandler[Any, Any]:
        if version != V1BETA1:
            return super().handler(version)
        if self.beta is None:
            good = self.preparer
            ledger = Ledger(good.ledger.data_dir / "v1beta1", good.cdi)
            ledger.open()
            again = Preparer(
                good.inventory,
                good.claims,
                ledger,
                good.cdi,
                good.metadata,
                good.partitions,
                good.statuses,
            )
            self.beta = DraService(again, self.health)
        return self.beta.handler(version)
