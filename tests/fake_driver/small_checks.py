"""The steps of each case in a few lines, independent of the suite's own checks.

Each function acts on a rig and asserts; ``CHECKS`` has them in the order of the catalogue. They
run one after the other on one driver, as the suite does it, so what a fault leaves behind for
other cases shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig

Check = Callable[[Rig], None]

CHECKS: dict[str, Check] = {}


def check(case: str) -> Callable[[Check], Check]:
    def register(function: Check) -> Check:
        CHECKS[case] = function
        return function

    return register


def good(rig: Rig, claim: Claim) -> Any:
    entry = rig.prepare(claim)
    assert entry.error == ""
    return entry


def freed(rig: Rig, *claims: Claim) -> None:
    for claim in claims:
        assert rig.unprepare(claim) == ""


def error_beside(rig: Rig, one: Claim, other: Claim) -> str:
    """The error of preparing a claim while another one is prepared."""
    good(rig, one)
    error = str(rig.prepare(other).error)
    freed(rig, one, other)
    return error


def config_of(
    *requests: str, driver: str = DRIVER, source: str = "FromClaim", **parameters: Any
) -> dict[str, Any]:
    """An entry of an allocation's configuration."""
    known = {"apiVersion": "fake.dra.example/v1", "kind": "DeviceConfig"}
    opaque = {"driver": driver, "parameters": {**known, **parameters}}
    return {"source": source, "requests": list(requests), "opaque": opaque}


TIMELINE: dict[str, Callable[[Rig, Any], None]] = {}
"""Judged at each answer to a Prepare of the run."""


def at_each_answer(case: str) -> Callable[[Callable[[Rig, Any], None]], Any]:
    def register(function: Callable[[Rig, Any], None]) -> Any:
        TIMELINE[case] = function
        return function

    return register


def pools_of(rig: Rig) -> dict[str, list[Any]]:
    pools: dict[str, list[Any]] = {}
    for item in rig.store.of(DRIVER):
        pools.setdefault(item["spec"]["pool"]["name"], []).append(item["spec"])
    return pools


def failed(rig: Rig, case: str) -> bool:
    """Run one check: True if it fails."""
    try:
        CHECKS[case](rig)
    except (AssertionError, grpc.RpcError, KeyError):
        return True
    return False
