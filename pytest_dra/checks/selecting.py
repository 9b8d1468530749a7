"""What device selectors find among published devices."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.api.quantity import QuantityError
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.prepared import prepare
from pytest_dra.cel.selector import Selector
from pytest_dra.checks.attributes import full_name
from pytest_dra.checks.attributes import type_of
from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.flaws import device_text
from pytest_dra.checks.flaws import devices_of
from pytest_dra.checks.flaws import driver_of
from pytest_dra.spec import Json

VALUES_MAX: Final = 8
"""Values of one attribute that are tried: what goes wrong is mostly its name or its type."""

DEVICES_MAX: Final = 2_000
"""Devices of a driver that a value is looked for in; others differ in nothing but values."""

NAMES_MAX: Final = 200
"""Attributes and capacities of a driver that are tried."""

DECOY: Final = "decoy.example.com"
"""A driver that nobody has, for devices like those of the driver under test."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A device with its slice, ready for selectors."""

    item: Json
    path: str
    device: Json
    prepared: Prepared


def shown(slices: Iterable[Json], env: Environment, *, driver: str = "") -> list[Shown]:
    """All devices of slices; as if they were another ``driver``'s, where one is named."""
    found = list(devices_of(slices))
    pairs = ((driver or driver_of(item), device) for item, _, device in found)
    return [
        Shown(item=item, path=path, device=device, prepared=one)
        for (item, path, device), one in zip(found, prepare(pairs, lists=env.lists), strict=True)
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class Matches:
    """What selectors that all have to match say of devices.

    ``failed`` is the first device at which one fails, with its error: a scheduler that comes
    there gives the pod up.
    """

    devices: tuple[Shown, ...]
    failed: tuple[Shown, CelError] | None


def matching(expressions: Sequence[str], devices: Sequence[Shown], env: Environment) -> Matches:
    """The devices that all expressions match, tried one after the other.

    Raises:
        CompileError: one of them does not compile, which is the matter of validation.
    """
    left, failed = list(devices), None
    for expression in expressions:
        results = Selector(expression, env).matches([one.prepared for one in left])
        kept = []
        for one, result in zip(left, results, strict=True):
            if isinstance(result, CelError):
                failed = failed or (one, result)
            elif result:
                kept.append(one)
        left = kept
    return Matches(tuple(left), failed)


def selectors_of(
    wanted: Sequence[Shown], others: Sequence[Shown], env: Environment
) -> tuple[str, ...] | None:
    """Selectors that match one of the devices at least and none of the others.

    Returns:
        As few as there can be, none where there are no others; None: nothing that is published
        tells them apart.
    """
    if not others:
        return ()
    for one in wanted:
        told = [text for _, _, text, _ in _expressions(one, driver_of(one.item))]
        for chosen in (*((each,) for each in told), tuple(told)):
            if chosen and not matching(chosen, others, env).devices:
                return chosen
    return None


def values_must_be_selectable(slices: Sequence[Json], env: Environment) -> Iterator[Flaw]:
    """A selector that quotes a published value matches the devices that have it, and only them."""
    by_driver: dict[str, list[Shown]] = {}
    for one in shown(slices, env):
        by_driver.setdefault(driver_of(one.item), []).append(one)
    for driver, devices in by_driver.items():
        doubles = list(_doubles(driver, devices))
        yield from doubles
        spoiled = {id(flaw.item) for flaw in doubles}
        left = [one for one in devices if id(one.item) not in spoiled]
        yield from _unselectable(driver, left[:DEVICES_MAX], env)


def _doubles(driver: str, devices: Iterable[Shown]) -> Iterator[Flaw]:
    for one in devices:
        for field in ("attributes", "capacity"):
            names = one.device.get(field) or {}
            for name in names:
                if "/" not in name and f"{driver}/{name}" in names:
                    yield Flaw(
                        item=one.item,
                        field=f"{one.path}.{field}[{name}]",
                        where=f"{field} of {device_text(one.item, one.device)}",
                        got=f"{name} and {driver}/{name}, which are one name",
                        want="one of the two",
                    )


def _unselectable(driver: str, devices: list[Shown], env: Environment) -> Iterator[Flaw]:
    carriers: dict[tuple[str, str], dict[object, tuple[str, list[int]]]] = {}
    places: dict[tuple[str, str], tuple[Shown, str]] = {}
    for number, one in enumerate(devices):
        for field, name, expression, same in _expressions(one, driver):
            key = (field, full_name(name, driver))
            if key not in carriers and len(carriers) >= NAMES_MAX:
                continue
            places.setdefault(key, (one, name))
            by_value = carriers.setdefault(key, {})
            if same in by_value or len(by_value) < VALUES_MAX:
                by_value.setdefault(same, (expression, []))[1].append(number)
    for key, by_value in carriers.items():
        one, name = places[key]
        for expression, numbers in by_value.values():
            problem = _problem(expression, numbers, devices, env)
            if problem:
                yield Flaw(
                    item=one.item,
                    field=f"{one.path}.{key[0]}[{name}]",
                    where=f"{key[1]} of {device_text(one.item, one.device)}",
                    got=f"{expression}: {problem}",
                    want="a selector that matches the devices with this value and no others",
                )
                break


def _problem(expression: str, numbers: list[int], devices: list[Shown], env: Environment) -> str:
    try:
        results = Selector(expression, env).matches([one.prepared for one in devices])
    except CompileError as error:
        return f"does not compile: {error.problems[0].message}"
    wanted = set(numbers)
    for number, result in enumerate(results):
        if isinstance(result, CelError):
            if number in wanted:
                return f"fails: {result.message}"
        elif result != (number in wanted):
            return "matches another device" if result else "does not match the device"
    return ""


def _expressions(one: Shown, driver: str) -> Iterator[tuple[str, str, str, object]]:
    """(field, name, selector, what is equal for it) of each value that a selector can be made of.

    The order of versions does not look at what is behind their ``+``.
    """
    for name, value in (one.device.get("attributes") or {}).items():
        kind = type_of(value)
        if name.count("/") > 1 or kind not in ("bool", "int", "string", "version"):
            continue
        literal = _literal(kind, value[kind])
        if literal:
            place = _place("attributes", name, driver)
            same = str(value[kind]).partition("+")[0] if kind == "version" else value[kind]
            test = f"{place}.compareTo({literal}) == 0" if kind == "version" else ""
            yield "attributes", name, test or f"{place} == {literal}", (kind, same)
    for name, value in (one.device.get("capacity") or {}).items():
        text = value.get("value") if isinstance(value, dict) else None
        if name.count("/") > 1 or not isinstance(text, str):
            continue
        try:
            amount = Quantity.parse(text)
        except QuantityError:
            continue
        place = _place("capacity", name, driver)
        yield "capacity", name, f"{place}.compareTo(quantity({json.dumps(text)})) == 0", amount


def _place(field: str, name: str, driver: str) -> str:
    domain, _, plain = full_name(name, driver).partition("/")
    return f"device.{field}[{json.dumps(domain)}][{json.dumps(plain)}]"


def _literal(kind: str, value: Any) -> str:
    if kind == "bool" and isinstance(value, bool):
        return "true" if value else "false"
    if kind == "int" and isinstance(value, int):
        return str(value)
    if kind == "string" and isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if kind == "version" and isinstance(value, str):
        return f"semver({json.dumps(value)})"
    return ""
