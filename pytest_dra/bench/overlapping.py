"""Devices of which one is a part of the other, by what the profile says."""

from __future__ import annotations

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.devices import Device
from pytest_dra.spec import UnsupportedEnvironment


def device_and_part(bench: Bench) -> tuple[Device, Device]:
    """A device that consumes counters, and one that names it in ``driver.overlaps``.

    Raises:
        UnsupportedEnvironment: none is published, though the profile declares partitions.
    """
    attribute = bench.profile.driver.overlaps
    found = bench.look_for(lambda: _overlapping(bench, attribute))
    if found is None:
        raise UnsupportedEnvironment(
            f"needs a device that names another one with counters in its attribute {attribute}",
            way_out="let the driver publish one, or take PartitionableDevices out of the profile",
        )
    return found


def _overlapping(bench: Bench, attribute: str) -> tuple[Device, Device] | None:
    found = [each for each in bench.instance.devices() if each.spec.get("consumesCounters")]
    by_name = {(each.pool, each.name): each for each in found}
    for part in found:
        whole = by_name.get((part.pool, _parent(part, attribute, bench.driver)))
        if whole is not None and whole is not part:
            return whole, part
    return None


def _parent(device: Device, attribute: str, driver: str) -> str:
    plain = attribute.removeprefix(f"{driver}/")
    return str(device.attribute(attribute) or device.attribute(plain) or "")
