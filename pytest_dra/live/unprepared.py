"""Devices that need no plugin on their node: what is asked for to get one, and what shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from pytest_dra.checks.attributes import full_name
from pytest_dra.checks.attributes import type_of
from pytest_dra.checks.flaws import driver_of
from pytest_dra.checks.selecting import Shown
from pytest_dra.live import choosing
from pytest_dra.live.asking import Ask
from pytest_dra.live.bench import LiveBench
from pytest_dra.profile.model import Probe
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

ALL: Final = "*"
BOTH: Final = frozenset({"NodePrepareResources", "NodeUnprepareResources"})
"""What stands in ``skipNodeOperations`` of a slice whose devices need neither call."""

ALLOCATED_S: Final = 30.0
"""Longest wait for an allocation: as long as a kubelet leaves a plugin's slices that has gone."""

EVERY_S: Final = 0.2
"""Between two looks at the claim."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A request that such a device alone can answer, and the probe that shows it."""

    ask: Ask
    probe: Probe


def choices(bench: LiveBench) -> list[Choice]:
    """One for each class of the profile that has such devices.

    Raises:
        UnsupportedEnvironment: there are none, or nothing tells them from others of their class.
    """
    found = choosing.choices(
        bench,
        lambda one: skips(one.item),
        what="skip both node operations",
        way_out="name their class in driver.deviceClasses, and turn the cluster's feature gate "
        "DRAOptionalNodeOperations on",
    )
    kind_attribute = bench.profile.driver.kind_attribute
    return [
        Choice(
            ask=each.ask,
            probe=probe_for(bench.probe, each.devices, kind_attribute=kind_attribute),
        )
        for each in found
    ]


def skips(item: Json) -> bool:
    """True if devices of a slice need neither Prepare nor Unprepare."""
    skipped = set(item["spec"].get("skipNodeOperations") or ())
    return ALL in skipped or skipped >= BOTH


def probe_for(probe: Probe, devices: Sequence[Shown], *, kind_attribute: str) -> Probe:
    """What a container with one of the devices shows: for kinds that nobody injects as always."""
    kinds = {_kind(each, kind_attribute) for each in devices}
    always = {kind: number for kind, number in probe.always.items() if kind in kinds}
    return dataclasses.replace(probe, expect=always) if always else probe


def _kind(one: Shown, kind_attribute: str) -> str:
    driver = driver_of(one.item)
    for name, value in (one.device.get("attributes") or {}).items():
        if kind_attribute and full_name(name, driver) == full_name(kind_attribute, driver):
            return str(value.get(type_of(value)))
    return ""


def must_be_allocated(bench: LiveBench, claim: str) -> None:
    """Wait for the allocation of a claim on such a device while the plugin is away.

    Raises:
        UnsupportedEnvironment: its slices have gone with the plugin, so that nobody can use it.
    """
    deadline = Deadline.after(ALLOCATED_S)
    if poll(lambda: bench.claims.devices(claim), deadline, every_s=EVERY_S):
        return
    if not any(skips(each) for each in bench.driver.slices()):
        raise UnsupportedEnvironment(
            "the slices of devices that skip node operations went with the plugin",
            way_out="publish them from a controller, for all nodes: a kubelet deletes those of its "
            "node 30 s after their plugin has gone",
        )
