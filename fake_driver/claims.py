"""Claims as the driver sees them: what a call names, and what their allocation holds for us."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any
from typing import Final
from typing import Protocol

from pytest_dra.fake_driver import names
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import ClaimGoneError
from pytest_dra.fake_driver.errors import NotAllocatedError
from pytest_dra.fake_driver.opaque import PLAIN
from pytest_dra.fake_driver.opaque import Configs
from pytest_dra.fake_driver.opaque import DeviceConfig

CLAIM_GET_S: Final = 20.0
"""Longest wait for one claim: below half of the kubelet's 45 s per call, so that an Unprepare that
waits behind it is still answered in time."""

GONE_GET_S: Final = 5.0
"""Longest look for the claim of a predecessor: other claims wait meanwhile."""

GETS_MARGIN_S: Final = 2.0
"""Left of the call's deadline for the work after the claim has been read."""

POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of claims that were made from a template."""

SHARE_HASH: Final = 8
"""Hex digits that tell apart what one claim holds: 32 results at most, so collisions are out."""


class ClaimSource(Protocol):
    """Where ResourceClaims are read from."""

    def get_claim(self, namespace: str, name: str, *, timeout_s: float) -> dict[str, Any]:
        """The ResourceClaim as a plain dict; ClaimError if it cannot be had."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRef:
    """A claim as a call names it."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} (UID {self.uid})"

    def check(self) -> None:
        """ClaimError unless all parts are legal: they become parts of paths and URLs."""
        if not names.is_uid(self.uid):
            raise ClaimError(f"claim UID {self.uid[: names.UID_MAX]!r} is not legal")
        if not names.is_label(self.namespace):
            raise ClaimError(f"claim {self.uid}: its namespace is not legal")
        if not names.is_subdomain(self.name):
            raise ClaimError(f"claim {self.uid}: its name is not legal")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One device that a claim holds, and the settings in force for it.

    ``requests`` are main request names; ``share_id`` is empty for a device held alone, and
    ``consumed`` (name and amount of capacities) then as well.
    """

    pool: str
    device: str
    requests: tuple[str, ...]
    share_id: str = ""
    consumed: tuple[tuple[str, str], ...] = ()
    admin: bool = False
    config: DeviceConfig = PLAIN

    def excludes(self, other: Held) -> bool:
        """True if two claims must not hold both at the same time."""
        if (self.pool, self.device) != (other.pool, other.device):
            return False
        if self.admin or other.admin:
            return False
        return not (self.share_id and other.share_id and self.share_id != other.share_id)

    @property
    def digest(self) -> str:
        """Short name of exactly this device with exactly these settings."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:SHARE_HASH]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """What a claim holds of this driver, as allocated; equal if nothing has changed.

    ``pod_claim``: the name that the pod has for a claim that was made for it.
    """

    held: tuple[Held, ...]
    pod_claim: str = dataclasses.field(default="", compare=False)

    def same_devices(self, other: Allocation) -> bool:
        """True if both hold the same devices for the same requests, settings apart."""
        mine = {dataclasses.replace(held, config=PLAIN) for held in self.held}
        return mine == {dataclasses.replace(held, config=PLAIN) for held in other.held}


class Claims:
    """Reads claims and finds what they hold of one driver."""

    configs: type[Configs] = Configs

    def __init__(self, driver: str, source: ClaimSource) -> None:
        self.driver = driver
        self.source = source

    def allocation(self, ref: ClaimRef, *, left_s: float | None) -> Allocation:
        """GET the claim and take our part of its allocation; ClaimError if it cannot be served.

        ``left_s`` is what is left of the call's deadline, None if it has none.
        """
        claim = self.get(ref, left_s=left_s)
        self.check_uid(ref, claim)
        return self.held(ref, claim)

    def get(self, ref: ClaimRef, *, left_s: float | None) -> dict[str, Any]:
        """GET whatever claim has the name now; ClaimError if it cannot be had."""
        timeout_s = CLAIM_GET_S if left_s is None else min(CLAIM_GET_S, left_s - GETS_MARGIN_S)
        if timeout_s <= 0:
            raise ClaimError(f"claim {ref}: no time left to read it; call again")
        return self.source.get_claim(ref.namespace, ref.name, timeout_s=timeout_s)

    def gone(self, ref: ClaimRef) -> bool:
        """True only if the API server says that this claim exists no more."""
        try:
            claim = self.source.get_claim(ref.namespace, ref.name, timeout_s=GONE_GET_S)
        except ClaimGoneError:
            return True
        except ClaimError:
            return False
        return (claim.get("metadata") or {}).get("uid") != ref.uid

    def check_uid(self, ref: ClaimRef, claim: dict[str, Any]) -> None:
        """ClaimError if the name belongs to another claim by now."""
        uid = (claim.get("metadata") or {}).get("uid")
        if uid != ref.uid:
            raise ClaimError(f"claim {ref}: its name now belongs to UID {uid}")

    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        """Our devices of the claim, one entry for each (pool, device, share)."""
        allocation = (claim.get("status") or {}).get("allocation")
        if not allocation:
            return self.unallocated(ref, claim)
        results = self.own((allocation.get("devices") or {}).get("results") or [])
        if not results:
            raise ClaimError(f"claim {ref} holds no device of {self.driver}")
        requests = {str(result.get("request", "")) for result in results}
        configs = self.configs(allocation, self.driver, requests)
        made: dict[tuple[str, str, str], Held] = {}
        for result in results:
            held = self.one(result, configs)
            key = (held.pool, held.device, held.share_id)
            if key in made:
                together = dict.fromkeys(made[key].requests + held.requests)
                held = dataclasses.replace(made[key], requests=tuple(together))
            made[key] = held
        return Allocation(held=tuple(made.values()), pod_claim=_pod_claim(claim))

    def unallocated(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        """What to do with a claim that has no allocation: refuse it."""
        raise NotAllocatedError(f"claim {ref} is not allocated: status.allocation is not set")

    def own(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of all results that are this driver's."""
        return [result for result in results if result.get("driver") == self.driver]

    def one(self, result: dict[str, Any], configs: Configs) -> Held:
        """One allocation result with its settings."""
        request = str(result.get("request", ""))
        return Held(
            pool=str(result.get("pool", "")),
            device=str(result.get("device", "")),
            requests=(request.partition("/")[0],),
            share_id=str(result.get("shareID") or ""),
            consumed=_amounts(result.get("consumedCapacity")),
            admin=result.get("adminAccess") is True,
            config=configs.of(request),
        )


def _pod_claim(claim: dict[str, Any]) -> str:
    """The name of the claim in its pod; empty where it is not legal as a part of a path."""
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    name = str(annotations.get(POD_CLAIM) or "")
    return name if names.is_label(name) else ""


def _amounts(consumed: Any) -> tuple[tuple[str, str], ...]:
    found = consumed.items() if isinstance(consumed, dict) else ()
    return tuple(sorted((str(name), str(amount)) for name, amount in found))
