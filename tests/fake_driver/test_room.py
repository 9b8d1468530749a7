"""What several claims may hold together."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.opaque import DeviceConfig
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.record import decode
from pytest_dra.fake_driver.record import encode
from pytest_dra.fake_driver.room import Room


@pytest.fixture
def room() -> Room:
    here = Path("/x")
    options = Options(
        node_name="n",
        registry_dir=here,
        plugins_dir=here,
        cdi_root=here,
        features=("shares", "partitions", "groups"),
    )
    return Room(Inventories(options).load())


def held(device: str, pool: str, memory: str = "", *, admin: bool = False) -> Held:
    return Held(
        pool=f"n-{pool}",
        device=device,
        requests=("r",),
        share_id=device + memory if memory else "",
        consumed=(("memory", memory),) if memory else (),
        admin=admin,
    )


def test_shares_fit_until_the_capacity_is_used_up(room: Room) -> None:
    one, two = held("shared-0", "shares", "10Gi"), held("shared-0", "shares", "6Gi")
    assert room.problem(one, [two]) == ""
    more = held("shared-0", "shares", "1Gi")
    assert room.problem(more, [one, two]) == "not enough memory is left of device 'shared-0'"


def test_a_device_and_its_part_do_not_go_together(room: Room) -> None:
    whole, half = held("whole-0", "partitions"), held("half-0", "partitions")
    assert room.problem(half, [held("half-1", "partitions")]) == ""
    for one, other in ((whole, half), (half, whole)):
        assert "overlaps with one of" in room.problem(one, [other])


def test_devices_without_a_group_in_common_do_not_go_together(room: Room) -> None:
    even, odd, both = (held(f"grouped-{n}", "groups") for n in range(3))
    assert room.problem(even, [both]) == ""
    assert "goes with none of ['grouped-1']" in room.problem(even, [odd])
    assert "goes with none of" in room.problem(both, [even, odd])


def test_shares_of_one_device_have_one_mode(room: Room) -> None:
    one, two = held("shared-0", "shares", "1Gi"), held("shared-0", "shares", "2Gi")
    shared = dataclasses.replace(two, config=DeviceConfig(mode="shared"))
    assert room.problem(dataclasses.replace(two, config=DeviceConfig(label="x")), [one]) == ""
    assert room.problem(shared, [one]) == (
        "configuration: device 'shared-0' is in mode exclusive, which excludes shared"
    )


def test_admin_access_takes_nothing(room: Room) -> None:
    whole = held("whole-0", "partitions")
    assert room.problem(held("half-0", "partitions", admin=True), [whole]) == ""
    assert room.problem(whole, [held("half-0", "partitions", admin=True)]) == ""


def test_what_a_share_consumes_is_remembered() -> None:
    ref = ClaimRef(namespace="n", name="c", uid="11111111-1111-4111-8111-111111111111")
    allocation = Allocation(held=(held("shared-0", "shares", "1Gi"),))
    assert decode(encode(Record(ref=ref, allocation=allocation))).allocation == allocation
