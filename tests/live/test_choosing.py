"""Which class has the devices that a case needs, and what tells one device from others."""

from __future__ import annotations

from typing import Any
from typing import cast

import pytest

from pytest_dra.cel.environments import environment
from pytest_dra.checks.selecting import Shown
from pytest_dra.checks.selecting import shown
from pytest_dra.live import choosing
from pytest_dra.live.bench import LiveBench
from pytest_dra.spec import UnsupportedEnvironment

DRIVER = "fake.dra.example"
ENVIRONMENT = environment(37, stored=True)


class Driver:
    """What a class offers, by its name."""

    name = DRIVER
    environment = ENVIRONMENT

    def __init__(self, classes: dict[str, list[dict[str, Any]]]) -> None:
        self._classes = classes

    def offered(self, device_class: str) -> list[Shown]:
        spec = {"driver": DRIVER, "pool": {"name": "a"}, "devices": self._classes[device_class]}
        return shown([{"metadata": {"name": "s"}, "spec": spec}], ENVIRONMENT)


def bench_with(**classes: list[dict[str, Any]]) -> LiveBench:
    driver = type("Driver", (), {"device_classes": tuple(classes)})
    made = type(
        "Bench",
        (),
        {
            "driver": Driver(classes),
            "profile": type("Profile", (), {"driver": driver}),
            "device_class": next(iter(classes)),
        },
    )
    return cast(LiveBench, made())


def device(name: str, *, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"name": name, "attributes": {"index": {"int": index}}, **fields}


def is_shared(one: Shown) -> bool:
    return bool(one.device.get("allowMultipleAllocations"))


def choices(bench: LiveBench) -> list[choosing.Choice]:
    return choosing.choices(bench, is_shared, what="are shared", way_out="publish one")


def test_each_class_with_such_devices_is_asked_for_them_alone() -> None:
    shared = device("b", index=1, allowMultipleAllocations=True)
    (one,) = choices(bench_with(plain=[device("a")], mixed=[device("a"), shared]))
    assert one.ask.device_class == "mixed"
    assert one.ask.selectors == (f'device.attributes["{DRIVER}"]["index"] == 1',)
    assert [choosing.place_of(each) for each in one.devices] == [("a", "b")]
    (alone,) = choices(bench_with(shared=[shared]))
    assert alone.ask.selectors == ()


def test_where_no_class_has_them_the_way_out_is_told() -> None:
    with pytest.raises(
        UnsupportedEnvironment, match=r"no class .* devices that are shared"
    ) as told:
        choices(bench_with(plain=[device("a")]))
    assert told.value.way_out == "publish one"


def test_devices_that_nothing_tells_from_others_cannot_be_asked_for() -> None:
    twins = [device("a"), device("b", allowMultipleAllocations=True)]
    with pytest.raises(UnsupportedEnvironment, match=r"class twins .* no attribute tells them"):
        choices(bench_with(twins=twins))
    with pytest.raises(UnsupportedEnvironment, match="no attribute tells device 'a' of pool 'a'"):
        choosing.asking_for(bench_with(twins=twins), (DRIVER, "a", "a"))


def test_one_device_is_asked_for_by_what_it_alone_has() -> None:
    bench = bench_with(gpu=[device("a"), device("b", index=1)])
    ask = choosing.asking_for(bench, (DRIVER, "a", "b"), name="same")
    assert (ask.device_class, ask.name) == ("gpu", "same")
    assert ask.selectors == (f'device.attributes["{DRIVER}"]["index"] == 1',)
    with pytest.raises(UnsupportedEnvironment, match="'gone'"):
        choosing.asking_for(bench, (DRIVER, "a", "gone"))
