"""Devices that a case needs: which class has them, and what tells one from others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_dra.checks.selecting import Shown
from pytest_dra.checks.selecting import selectors_of
from pytest_dra.live.asking import REQUEST
from pytest_dra.live.asking import Ask
from pytest_dra.spec import UnsupportedEnvironment

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A request that only such devices can answer, and all devices of its class that are such."""

    ask: Ask
    devices: tuple[Shown, ...]


def choices(
    bench: LiveBench, fits: Callable[[Shown], bool], *, what: str, way_out: str
) -> list[Choice]:
    """One for each class of the profile that has devices which fit, on the first node.

    Args:
        bench: whose driver has them.
        fits: says which devices are meant.
        what: goes on behind "devices that".
        way_out: where no class has any.

    Raises:
        UnsupportedEnvironment: there are none, or nothing tells them from others of their class.
    """
    found = [
        choice
        for name in bench.profile.driver.device_classes
        if (choice := _choice(bench, name, fits, what)) is not None
    ]
    if not found:
        raise UnsupportedEnvironment(
            f"no class of the profile has devices that {what}", way_out=way_out
        )
    return found


def _choice(
    bench: LiveBench, device_class: str, fits: Callable[[Shown], bool], what: str
) -> Choice | None:
    devices = bench.driver.offered(device_class)
    meant = [each for each in devices if fits(each)]
    if not meant:
        return None
    others = [each for each in devices if not fits(each)]
    selectors = selectors_of(meant, others, bench.driver.environment)
    if selectors is None:
        raise UnsupportedEnvironment(
            f"class {device_class} has devices that {what} and others, and no attribute tells "
            "them apart",
            way_out="publish one that does, or a class of their own",
        )
    return Choice(ask=Ask(device_class=device_class, selectors=selectors), devices=tuple(meant))


def asking_for(
    bench: LiveBench, held: tuple[str, str, str], *, device_class: str = "", name: str = REQUEST
) -> Ask:
    """A request that only one device can answer: that of an allocation result.

    Args:
        bench: whose driver has it.
        held: driver, pool and device.
        device_class: has the device; by default the first one of the profile.
        name: of the request.

    Raises:
        UnsupportedEnvironment: nothing that is published tells it from the others of its class.
    """
    device_class = device_class or bench.device_class
    devices = bench.driver.offered(device_class)
    meant = [each for each in devices if place_of(each) == held[1:]]
    others = [each for each in devices if place_of(each) != held[1:]]
    selectors = selectors_of(meant, others, bench.driver.environment)
    if not meant or selectors is None:
        raise UnsupportedEnvironment(
            f"no attribute tells device {held[2]!r} of pool {held[1]!r} from others of class "
            f"{device_class}",
            way_out="publish one that does, such as a uuid",
        )
    return Ask(device_class=device_class, name=name, selectors=selectors)


def place_of(one: Shown) -> tuple[str, str]:
    """Pool and name of a device."""
    return str(one.item["spec"]["pool"]["name"]), str(one.device["name"])
