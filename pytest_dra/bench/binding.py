"""Devices with binding conditions, allocated as the scheduler does before it binds their pod."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Final

from pytest_dra.bench import claims
from pytest_dra.bench import statuses
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.devices import Device
from pytest_dra.checks.binding import conditions_at
from pytest_dra.checks.claim_status import key_of
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

LISTS: Final = ("bindingConditions", "bindingFailureConditions")
"""What the scheduler copies from a device into its allocation result (contract 7.2)."""


def conditional_devices(bench: Bench) -> list[Device]:
    """The devices with binding conditions, at least one.

    Raises:
        UnsupportedEnvironment: none is published, though the profile declares the feature.
    """
    found = bench.look_for(lambda: _conditional(bench.instance.devices()))
    if found is None:
        raise UnsupportedEnvironment(
            "needs a device with bindingConditions, and none is published",
            way_out="let the driver publish one, or take BindingConditions out of the profile",
        )
    return found


def _conditional(devices: Sequence[Device]) -> list[Device] | None:
    return [each for each in devices if each.spec.get(LISTS[0])] or None


def waiting_claim(bench: Bench, devices: Sequence[Device], *, decoy: bool = False) -> Claim:
    """A claim that waits for its conditions; ``decoy``: it holds another driver's device first."""
    names = [f"req-{number}" for number in range(len(devices))]
    foreign = ["decoy"] if decoy else []
    claim = bench.claims.create([Wanted(request=each, devices=()) for each in [*foreign, *names]])
    return allocate(bench, claim, devices, decoy=decoy)


def allocate(
    bench: Bench, claim: Claim, devices: Sequence[Device], *, decoy: bool = False
) -> Claim:
    """Give an existing claim these devices, with the conditions that they wait for."""
    own = [
        {
            **claims.result(f"req-{number}", device, driver=bench.driver),
            **{name: device.spec[name] for name in LISTS if device.spec.get(name)},
        }
        for number, device in enumerate(devices)
    ]
    return bench.allocate(claim, [*([claims.decoy("decoy")] if decoy else []), *own])


def own_results(bench: Bench, claim: Claim) -> list[Json]:
    """The results of the driver under test."""
    return [result for result in claim.results if result["driver"] == bench.driver]


def wait_for(bench: Bench, claim: Claim, wanted: Callable[[Json], bool], *, since: int) -> Json:
    """The claim once it is as wanted, or at the end of ``budgets.binding``."""

    def seen() -> bool:
        return wanted(statuses.now_of(bench, claim, since=since))

    until(bench.timeline, seen, Deadline.after(bench.profile.budgets.binding))
    return statuses.now_of(bench, claim, since=since)


def are_met(bench: Bench, claim: Claim) -> Callable[[Json], bool]:
    """True of the claim once every condition of the driver's results is True."""

    def met(now: Json) -> bool:
        return all(
            conditions_at(now, key_of(result)).get(kind) == "True"
            for result in own_results(bench, claim)
            for kind in result.get(LISTS[0]) or ()
        )

    return met


def first_told(bench: Bench, claim: Claim, *, since: int) -> dict[str, str]:
    """The conditions of the claim's first result in the first write of the driver that has any."""
    (result,) = own_results(bench, claim)
    for write in statuses.own_writes(bench, since=since):
        if write.uid == claim.uid and not write.refused:
            found = conditions_at(write.after, key_of(result))
            told = {kind: found[kind] for kind in result[LISTS[0]] if kind in found}
            if told:
                return told
    return {}
