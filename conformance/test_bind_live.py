"""BIND on a cluster: the scheduler waits for the conditions of a device."""

from __future__ import annotations

import dataclasses

from pytest_dra.cases import case
from pytest_dra.checks import binding
from pytest_dra.checks.taints import NOTICED_S
from pytest_dra.live import LiveBench
from pytest_dra.live import ailing
from pytest_dra.live import attaching
from pytest_dra.live import choosing
from pytest_dra.spec import Level
from pytest_dra.spec import UnsupportedEnvironment


@case("BIND-002", Level.MUST, live=True)
def test_bind_002_met(dra_live: LiveBench) -> None:
    """all binding conditions become True"""
    claim = dra_live.claim(attaching.conditional(dra_live).ask)
    pod = dra_live.pod_with(claim)
    now, result = attaching.wait_for(dra_live, claim, attaching.are_met)
    if result is not None:
        within_s = dra_live.profile.budgets.binding
        binding.all_must_be_met(now, result, within_s=within_s, what="the claim of a pod")
    dra_live.pods.must_run(pod, want="once all binding conditions of its device are True")


@case("BIND-003", Level.SHOULD, live=True)
def test_bind_003_failure(dra_live: LiveBench) -> None:
    """a failed attachment is reported"""
    choice = attaching.conditional(dra_live)
    device = choice.devices[0]
    held = (dra_live.driver.name, *choosing.place_of(device))
    ask = choosing.asking_for(dra_live, held, device_class=choice.ask.device_class)
    with ailing.failing(dra_live, held):
        # A driver that has noticed keeps the scheduler away; this claim does not mind.
        claim = dra_live.claim(dataclasses.replace(ask, tolerated=True))
        dra_live.pod_with(claim)
        now, result = attaching.wait_for(dra_live, claim, attaching.has_failed)
        if result is None:
            raise UnsupportedEnvironment(
                f"the scheduler gives the faulty device {held[2]!r} to nobody",
                way_out="--dra-depth=wire, at which claims are allocated by the suite",
            )
        what = "the claim of a pod on a device that cannot be attached"
        within_s = dra_live.profile.budgets.binding
        binding.failure_must_be_told(now, result, within_s=within_s, what=what)
        dra_live.pods.clear()
        found = ailing.published_until(
            dra_live, held, lambda found: found is None or bool(found.get("taints"))
        )
        within_s = NOTICED_S
        binding.must_not_be_offered(device.device, found, device=held[2], within_s=within_s)
