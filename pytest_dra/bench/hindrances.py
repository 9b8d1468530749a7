"""What a case does to a driver's publishing: foreign edits, refusals, lost watches, gates off."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.instance import Instance
from pytest_dra.clusters.protocol import Trouble
from pytest_dra.embedded.trouble import Caused
from pytest_dra.embedded.trouble import Scope
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Mark
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

EDITED: Final = "pytest-dra.example.com/edited"
"""Attribute that a foreign edit adds to a device."""

SETTLED_S: Final = 5.0
"""Publishing has settled after this long without a slice write (term of the catalogue)."""

CONFLICT, EXPIRED, TOO_MANY, BROKEN = 409, 410, 429, 500

RETRY_AFTER_S: Final = 1
"""What a busy API server asks its clients to wait."""

REFUSALS: Final = 3
DROPS: Final = 3

WATCH_AGAIN_S: Final = 35.0
"""Longest wait for a watch that is opened again: client-go backs off for 30 s at most."""

GATED: Final = {
    "DRADeviceTaints": ("taints",),
    "DRAPartitionableDevices": ("sharedCounters", "perDeviceNodeSelection", "consumesCounters"),
    "DRADeviceBindingConditions": (
        "bindsToNode",
        "bindingConditions",
        "bindingFailureConditions",
    ),
    "DRAConsumableCapacity": ("allowMultipleAllocations", "requestPolicy"),
    "DRAOptionalNodeOperations": ("skipNodeOperations",),
    "DRANodeAllocatableResources": ("nodeAllocatableResources",),
}
"""Fields of a slice by the feature gate without which they are dropped (contract 1.0)."""


def edit(bench: Bench, instance: Instance) -> Json:
    """Add an attribute to one device, as another user; returns the slice as it was before.

    It is a slice of the instance's node if there is one.
    """
    found = [each for each in instance.slices() if each["spec"].get("devices")]
    item = min(found, key=lambda each: each["spec"].get("nodeName") != instance.node)
    changed = copy.deepcopy(item)
    device = changed["spec"]["devices"][0]
    device["attributes"] = {**(device.get("attributes") or {}), EDITED: {"bool": True}}
    bench.cluster.admin().replace(RESOURCE_SLICES, changed)
    return item


def undo(bench: Bench, before: Json) -> None:
    """Take an edit back that the driver has left."""
    current = bench.cluster.admin().get(RESOURCE_SLICES, before["metadata"]["name"])
    current["spec"] = before["spec"]
    bench.cluster.admin().replace(RESOURCE_SLICES, current)


@contextmanager
def refused_creates(bench: Bench, instance: Instance) -> Iterator[Caused]:
    """The first three creates of slices are answered 429, 429 and 500."""
    trouble, scope = trouble_of(bench), _scope(instance, "create")
    with (
        trouble.refuse(scope, TOO_MANY, retry_after_s=RETRY_AFTER_S, times=REFUSALS - 1),
        trouble.refuse(scope, BROKEN, times=1) as caused,
    ):
        yield caused


@contextmanager
def refused_updates(bench: Bench, instance: Instance) -> Iterator[Caused]:
    """The first three updates or patches of slices are answered 409."""
    scope = _scope(instance, "update", "patch")
    with trouble_of(bench).refuse(scope, CONFLICT, times=REFUSALS) as caused:
        yield caused


def lose_watches(bench: Bench, instance: Instance) -> bool:
    """End the watches of slices three times, and answer the next one with 410.

    Returns False if the driver does not watch slices.
    """
    trouble, scope = trouble_of(bench), _scope(instance, "watch")
    if not trouble.drop_watches(scope):
        return False
    for _ in range(DROPS - 2):
        poll(lambda: trouble.drop_watches(scope), Deadline.after(WATCH_AGAIN_S))
    with trouble.refuse(scope, EXPIRED, times=1) as caused:
        # The last of the three: a watch that has not come back is refused as well.
        poll(lambda: trouble.drop_watches(scope) or caused.requests, Deadline.after(WATCH_AGAIN_S))
        poll(lambda: caused.requests, Deadline.after(WATCH_AGAIN_S))
    return True


def gated_fields(bench: Bench, slices: Iterable[Json]) -> dict[str, tuple[str, ...]]:
    """Fields that the slices use, by the gates that this version has and that are on."""
    there = set(_names([item.get("spec") for item in slices]))
    gates = bench.cluster.version.gates
    return {
        gate: tuple(field for field in fields if field in there)
        for gate, fields in GATED.items()
        if gates.get(gate) and not there.isdisjoint(fields)
    }


@contextmanager
def gates_off(bench: Bench, gates: Iterable[str]) -> Iterator[None]:
    """The API server drops the fields of these gates."""
    names = tuple(gates)
    bench.timeline.add(Mark(text=f"feature gates off: {', '.join(names)}"))
    with (
        bench.timeline.disturbance("feature gates off"),
        trouble_of(bench).gates(dict.fromkeys(names, False)),
    ):
        yield
    bench.timeline.add(Mark(text=f"feature gates on again: {', '.join(names)}"))


def trouble_of(bench: Bench) -> Trouble:
    """The cluster's misbehaviour on request.

    Raises:
        UnsupportedEnvironment: it has none.
    """
    found = bench.cluster.trouble()
    if found is None:
        raise UnsupportedEnvironment(
            "the cluster's API server does not misbehave on request",
            way_out="--dra-cluster=embedded",
        )
    return found


def _scope(instance: Instance, *verbs: str) -> Scope:
    return Scope(identity=instance.user, verbs=verbs, resource=RESOURCE_SLICES.plural)


def _names(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)
