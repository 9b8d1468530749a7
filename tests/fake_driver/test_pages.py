"""A pool of more devices than a slice holds: several slices, changed in a legal order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.checks.pools import are_tidy
from pytest_dra.checks.pools import view_of
from pytest_dra.fake_driver import inventory
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.slices import Slices
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import running

MANY = 300
FEW = 10

MIXED = """
pools:
  - name: "{node}"
    devices:
      - {name: "plain-{index}", count: 70}
      - {name: "tainted-{index}", count: 2, taints: [{key: example.com/old, effect: NoSchedule}]}
      - {name: "listed-{index}", count: 1, attributes: {lanes: {ints: [1, 2]}}}
      - {name: "more-{index}", count: 130}
"""


@pytest.fixture(name="rig")
def _rig() -> Iterator[Rig]:
    with running(devices=MANY) as rig:
        assert rig.wait(lambda: published(rig) == MANY)
        yield rig


def published(rig: Rig) -> int:
    """Devices of the pool as readers see it; -1 while it is not complete or has left-overs."""
    found = rig.store.of(DRIVER)
    view = view_of(found)
    return len(view.devices) if view is not None and are_tidy(found) else -1


def is_published(rig: Rig, devices: int) -> bool:
    """True once readers see so many devices."""
    return published(rig) == devices


def seen(rig: Rig) -> set[int]:
    """How many devices a reader of complete pools has seen, over all writes so far."""
    now: dict[str, Any] = {}
    counts = set()
    for _, event in rig.store.events:
        name = event["object"]["metadata"]["name"]
        now[name] = event["object"]
        if event["type"] == "DELETED":
            del now[name]
        view = view_of(now.values())
        if view is not None:
            counts.add(len(view.devices))
    return counts


def test_many_devices_are_several_slices_of_one_generation_that_state_their_number(
    rig: Rig,
) -> None:
    specs = [item["spec"] for item in rig.store.of(DRIVER)]
    assert [len(spec["devices"]) for spec in specs] == [128, 128, 44]
    assert {(spec["pool"]["generation"], spec["pool"]["resourceSliceCount"]) for spec in specs} == {
        (1, 3)
    }
    assert seen(rig) == {MANY}


def test_a_device_that_goes_and_comes_shows_readers_nothing_between(rig: Rig) -> None:
    rig.options.unplugged.touch()
    assert rig.wait(lambda: published(rig) == MANY - 1)
    rig.options.unplugged.unlink()
    assert rig.wait(lambda: published(rig) == MANY)
    assert seen(rig) == {MANY, MANY - 1}
    assert {item["spec"]["pool"]["generation"] for item in rig.store.of(DRIVER)} == {3}


def test_a_start_with_fewer_devices_and_one_with_more_show_readers_nothing_between(
    rig: Rig,
) -> None:
    for devices in (FEW, MANY):
        rig.stop()
        object.__setattr__(rig.options, "devices", devices)
        rig.start()
        assert rig.wait(partial(is_published, rig, devices))
    assert seen(rig) == {MANY, FEW}


def test_a_slice_with_a_special_device_has_at_most_64(tmp_path: Path) -> None:
    options = Options(
        node_name=NODE, registry_dir=tmp_path, plugins_dir=tmp_path, cdi_root=tmp_path
    )
    made = Slices(options, inventory.parse(MIXED, "mixed.yaml", NODE)).wanted()
    sizes = [len(spec["devices"]) for spec in made[0].specs]
    assert sizes == [70, 64, 69]
    assert {spec["pool"]["resourceSliceCount"] for spec in made[0].specs} == {3}
