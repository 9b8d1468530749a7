"""The devices of a driver as its published slices show them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence

from pytest_dra.spec import Json

NO_SUCH_DEVICE = "no-such-device"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device of the newest generation of its pool.

    ``spec`` is the entry of ``spec.devices`` as published. ``plain`` is False for devices that
    cannot simply be given away whole: shared, with counters, or with a taint.
    """

    pool: str
    name: str
    spec: Json

    @property
    def plain(self) -> bool:
        """True if an allocation needs nothing but the device's name."""
        special = ("allowMultipleAllocations", "consumesCounters", "taints", "bindingConditions")
        return not any(self.spec.get(field) for field in special)

    def attribute(self, name: str) -> object:
        """Value of a scalar attribute, None if the device does not have it."""
        value = (self.spec.get("attributes") or {}).get(name)
        if not isinstance(value, dict) or not value:
            return None
        found: object = next(iter(value.values()))
        return found


def no_such(pool: str) -> Device:
    """A device that the pool does not have."""
    return Device(pool=pool, name=NO_SUCH_DEVICE, spec={})


def newest_generation(slices: Iterable[Json]) -> dict[tuple[str, str], list[Json]]:
    """Slices by (driver, pool), only those of the pool's highest generation."""
    pools: dict[tuple[str, str], list[Json]] = {}
    for item in slices:
        spec = item.get("spec") or {}
        pool = spec.get("pool") or {}
        pools.setdefault((spec.get("driver", ""), pool.get("name", "")), []).append(item)
    return {key: _highest(members) for key, members in pools.items()}


def _highest(members: Sequence[Json]) -> list[Json]:
    newest = max(_generation(item) for item in members)
    return [item for item in members if _generation(item) == newest]


def _generation(item: Json) -> int:
    value = ((item.get("spec") or {}).get("pool") or {}).get("generation")
    return value if isinstance(value, int) else 0


def devices_of(slices: Iterable[Json], *, driver: str, node: str) -> list[Device]:
    """The devices that a claim on ``node`` can be given, sorted by pool and name.

    Plain devices come first. As for the scheduler, nothing can be had from a pool that is
    incomplete or has a device name twice, nor from a slice of another node.
    """
    found: list[Device] = []
    for (owner, pool), members in newest_generation(slices).items():
        if owner == driver and _complete(members):
            found += _usable(pool, members, node)
    return sorted(found, key=lambda device: (not device.plain, device.pool, device.name))


def same_in(device: Device, slices: Iterable[Json]) -> Json | None:
    """The first entry of a device's pool and name in slices; None if there is none."""
    for item in slices:
        if item["spec"]["pool"]["name"] == device.pool:
            for each in item["spec"].get("devices") or []:
                if each["name"] == device.name:
                    found: Json = each
                    return found
    return None


def is_published(slices: Sequence[Json]) -> bool:
    """True if there is a device in a pool that has every slice that it says it has.

    A further pool may stay incomplete for ever, which is the matter of one case and no reason for
    the others to wait.
    """
    return any(
        _complete(members) and any(item["spec"].get("devices") for item in members)
        for members in newest_generation(slices).values()
    )


def published_on(node: str, *, sent: Iterable[Json]) -> Callable[[Sequence[Json]], bool]:
    """:func:`is_published` for a driver that has sent these slices before.

    If it has sent one of its node, one of the node must be there: a pool of no node may have come
    from elsewhere.
    """
    local = any((body.get("spec") or {}).get("nodeName") == node for body in sent)

    def published(slices: Sequence[Json]) -> bool:
        here = any(item["spec"].get("nodeName") == node for item in slices)
        return is_published(slices) and (here or not local)

    return published


def _complete(members: Sequence[Json]) -> bool:
    counts = {item["spec"].get("pool", {}).get("resourceSliceCount") for item in members}
    return counts == {len(members)}


def _usable(pool: str, members: Sequence[Json], node: str) -> list[Device]:
    specs = [device for item in members for device in item["spec"].get("devices") or []]
    names = [str(device.get("name", "")) for device in specs]
    if len(set(names)) < len(names):
        return []
    return [
        Device(pool=pool, name=str(device.get("name", "")), spec=device)
        for item in members
        if item["spec"].get("nodeName") in (None, "", node)
        for device in item["spec"].get("devices") or []
    ]
