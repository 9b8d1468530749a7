"""Legal variants: what a driver may do otherwise without being wrong, with ``--variant=ID``.

A variant is one or more subclasses of the driver's parts, under its id in the catalogue.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

from pytest_dra.fake_driver import variants_claim
from pytest_dra.fake_driver import variants_health
from pytest_dra.fake_driver import variants_metadata
from pytest_dra.fake_driver import variants_publishing
from pytest_dra.fake_driver import variants_requests
from pytest_dra.fake_driver import variants_slices
from pytest_dra.fake_driver import variants_socket
from pytest_dra.fake_driver import variants_status
from pytest_dra.fake_driver import variants_wire
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.driver import Parts
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.variants_cdi import BaseId
from pytest_dra.fake_driver.variants_cdi import DeviceIds
from pytest_dra.fake_driver.variants_cdi import FirstNeed
from pytest_dra.fake_driver.variants_cdi import HashedNames
from pytest_dra.fake_driver.variants_cdi import LastingSpecs
from pytest_dra.fake_driver.variants_cdi import NoIds
from pytest_dra.fake_driver.variants_cdi import NoSpecs
from pytest_dra.fake_driver.variants_cdi import TwoDevices
from pytest_dra.fake_driver.variants_cdi import TwoIds
from pytest_dra.fake_driver.variants_cdi import YamlSpecs


class OneConsumer(Claims):
    """Serves one pod for each claim."""

    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        consumers = (claim.get("status") or {}).get("reservedFor") or []
        if len(consumers) > 1:
            raise ClaimError(f"claim {ref}: it is reserved for {len(consumers)} consumers, want 1")
        for consumer in consumers:
            if consumer.get("resource") != "pods":
                kind = consumer.get("resource")
                raise ClaimError(f"claim {ref}: its consumer is one of {kind!r}, want a pod")
        return super().held(ref, claim)


_VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V04": {"cdi": TwoDevices, "service": TwoIds},
    "V04-NRI": {"cdi": NoSpecs, "service": NoIds},
    "V11": {"claims": OneConsumer},
    "V12": {"cdi": YamlSpecs, "service": BaseId},
    "V12-NAMES": {"cdi": HashedNames, "service": BaseId},
    "V21": {"cdi": LastingSpecs, "service": DeviceIds},
    "V21-FIRST": {"cdi": FirstNeed, "service": DeviceIds},
    **variants_claim.VARIANTS,
    **variants_health.VARIANTS,
    **variants_metadata.VARIANTS,
    **variants_publishing.VARIANTS,
    **variants_requests.VARIANTS,
    **variants_slices.VARIANTS,
    **variants_socket.VARIANTS,
    **variants_status.VARIANTS,
    **variants_wire.VARIANTS,
}


def all_variants() -> list[str]:
    """The names of all variants."""
    return sorted(_VARIANTS)


def parts_of(variant: str, parts: Parts) -> Parts:
    """``parts`` with those of a variant; StartError if there is no such variant."""
    if variant not in _VARIANTS:
        known = ", ".join(sorted(_VARIANTS))
        raise StartError(f"there is no variant {variant!r}; have {known}")
    return dataclasses.replace(parts, **_VARIANTS[variant])
