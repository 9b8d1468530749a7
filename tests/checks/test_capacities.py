"""Capacities of devices that are in use."""

from __future__ import annotations

from pytest_dra.checks import attributes
from pytest_dra.spec import Json
from tests.checks.raising import Said
from tests.checks.raising import said


def published(**devices: str) -> list[Json]:
    """Slices with devices of so much memory."""
    made = [{"name": name, "capacity": {"m": {"value": each}}} for name, each in devices.items()]
    return [{"spec": {"driver": "x", "pool": {"name": "p"}, "devices": made}}]


def test_the_same_amount_may_be_written_otherwise() -> None:
    def stays(now: list[Json]) -> Said | None:
        before = published(a="1Gi", b="8")
        return said(lambda: attributes.capacity_must_stay(before, now, while_="in use", proof=[3]))

    assert stays(published(a="1024Mi", b="8")) is None
    assert stays(published(b="8", c="1")) is None
    assert stays(published(a="1Gi", b="7")) == Said(
        "capacity of device 'b' of pool 'p' in use",
        {"m": "7"},
        "{'m': '8'}, as before: the device has as much as ever",
        (3,),
    )
