"""CAP on a cluster: the scheduler says how much of a device a claim has."""

from __future__ import annotations

import dataclasses

from pytest_dra.cases import case
from pytest_dra.checks.settings import must_differ
from pytest_dra.checks.shares import consumed_must_be_enforced
from pytest_dra.checks.shares import rounded
from pytest_dra.live import LiveBench
from pytest_dra.live import choosing
from pytest_dra.live.observing import observed_one
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable


@case("CAP-004", Level.SHOULD, live=True)
def test_cap_004_consumed(dra_live: LiveBench) -> None:
    """the consumed capacity of the result is enforced"""
    (shared, *_) = choosing.choices(
        dra_live,
        lambda one: bool(one.device.get("allowMultipleAllocations")),
        what="have allowMultipleAllocations",
        way_out="name their class in driver.deviceClasses",
    )
    found = rounded(shared.devices[0].device)
    if found is None:
        raise NotApplicable("no capacity of such a device is rounded up")
    name, low, between, high = found

    def seen(asked: str) -> str:
        ask = dataclasses.replace(shared.ask, capacity={name: asked})
        what = f"a claim for {asked} {name} of a device"
        return observed_one(dra_live, ask, what=what)

    wanted = seen(high)
    must_differ(
        [seen(low), wanted], of="shares", way_out="let it print the amount that a claim has"
    )
    now = seen(between)
    consumed_must_be_enforced(now, wanted=wanted, requested=between, what=f"{high} {name}")
