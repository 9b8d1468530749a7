"""A device that comes and goes, and a number of devices by option."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.options import parse
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import running

WAIT_S = 3.0


def published(rig: Rig) -> list[str]:
    return [d["name"] for item in rig.store.of(DRIVER) for d in item["spec"]["devices"]]


def test_the_first_device_goes_and_comes_with_the_file() -> None:
    with running() as rig:
        assert rig.wait(lambda: "gpu-0" in published(rig), WAIT_S)
        rig.options.unplugged.touch()
        assert rig.wait(lambda: published(rig) and "gpu-0" not in published(rig), WAIT_S)
        rig.options.unplugged.unlink()
        assert rig.wait(lambda: "gpu-0" in published(rig), WAIT_S)


def test_a_change_of_two_slices_raises_the_generation() -> None:
    with running(devices=130) as rig:
        assert rig.wait(lambda: len(published(rig)) == 130, WAIT_S)
        rig.options.unplugged.touch()
        assert rig.wait(lambda: len(published(rig)) == 129, WAIT_S)
        assert rig.wait(
            lambda: {i["spec"]["pool"]["generation"] for i in rig.store.of(DRIVER)} == {2}, WAIT_S
        )


@pytest.mark.parametrize("devices", [0, 3, 300])
def test_the_number_of_devices_can_be_chosen(devices: int) -> None:
    with running(devices=devices) as rig:
        inventory = Inventories(dataclasses.replace(rig.options)).load()
        assert len(inventory.devices()) == devices
        assert rig.wait(lambda: rig.store.of(DRIVER), WAIT_S)


@pytest.mark.parametrize("text", ["-1", "4097", "many"])
def test_a_number_of_devices_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(StartError, match=r"--devices is '.*'; want a number from 0 to 4096"):
        parse([f"--devices={text}", "--node-name=n"], {})
