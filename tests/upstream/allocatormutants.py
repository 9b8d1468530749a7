"""Random changes to the scenarios that were written by hand, for the comparison with the oracle.

Parts are taken from other scenarios where they have the same name, lists lose, gain and change the
order of their items, values become such as stand at some limit. What no server stores, and on what
the Go allocator breaks down, is left out again: requests of one name, several pools where their
order is random.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import random
from collections.abc import Iterator
from typing import Any
from typing import Final

from pytest_dra.allocator import RulesError
from pytest_dra.allocator.rules import GATES
from tests.upstream.crossed import SCENARIOS
from tests.upstream.scenario import PROFILES
from tests.upstream.scenario import Json
from tests.upstream.scenario import rules_for

Place = tuple[Any, ...]
"""Keys and numbers of items that lead to a value."""

_QUANTITIES: Final = (
    "0", "1", "2", "3", "4", "8", "1500m", "500m", "1m", "1n", "1Ki", "-1", "1e3", "0.1", "16Ei",
    "9223372036854775807", "9223372036854775808",
)  # fmt: skip
_NUMBERS: Final = (0, 1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33)
_PARTS: Final = ("claims", "resourceSlices", "deviceClasses", "allocatedClaims", "nodes")
_KEPT: Final = ("id", "timeout", "tryNodes", "pods")
"""Parts of a scenario that are not changed, since they have to fit the rest."""
_NEEDED: Final = ("metadata", "name", "spec", "pool", "driver", "cel", "expression", "min")
"""Keys that are not taken away."""


def scenario(seed: int) -> Json:
    """The scenario of a seed."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    while True:
        made = copy.deepcopy(draw.choice(SCENARIOS))
        made.pop("timeout", None)
        made = {"profile": "default", "resourceSlices": [], "features": {}, **made}
        _cross(draw, made)
        for _ in range(draw.choice((1, 1, 2, 2, 3, 4, 6))):
            draw.choice(_CHANGES)(draw, made)
        made["id"] = f"m{seed}"
        with contextlib.suppress(KeyError, TypeError, AttributeError):
            # What has lost a part that everything has is drawn again.
            if _is_fair(made):
                return made


def _is_fair(made: Json) -> bool:
    for one in made.get("claims") or ():
        names = [each.get("name") for each in one["spec"]["devices"].get("requests") or ()]
        if len(set(names)) < len(names):
            return False
    known = {one["metadata"]["name"] for one in made.get("claims") or ()}
    if any(not known.issuperset(one["claims"]) for one in made.get("pods") or ()):
        return False
    nodes = {one["metadata"]["name"] for one in made["nodes"]}
    if not nodes.issuperset(made.get("tryNodes") or ()):
        return False
    pools = {(one["spec"]["driver"], one["spec"]["pool"]["name"]) for one in made["resourceSlices"]}
    try:
        return len(pools) < 2 or rules_for(made).variant != "stable"
    except RulesError:
        return True


def _cross(draw: random.Random, made: Json) -> None:
    """Give a scenario some parts of another one."""
    if draw.random() < 0.4:
        other = draw.choice(SCENARIOS)
        for part in _PARTS:
            if part in other and draw.random() < 0.3:
                own = made.get(part) or [] if draw.random() < 0.5 else []
                made[part] = [*own, *copy.deepcopy(other[part])]


def _walk(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    yield place, value
    if isinstance(value, dict):
        for key, one in value.items():
            if place or key not in _KEPT:
                yield from _walk(one, (*place, key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _walk(one, (*place, number))


def _name_of(place: Place) -> Any:
    """The last key: items of a list have the name of the list."""
    return next((one for one in reversed(place) if isinstance(one, str)), None)


@functools.cache
def _known() -> dict[tuple[Any, type], list[Any]]:
    """All values of the scenarios by name and type."""
    found: dict[tuple[Any, type], list[Any]] = {}
    for each in SCENARIOS:
        for place, value in _walk(each):
            if len(place) > 1:
                found.setdefault((_name_of(place), type(value)), []).append(value)
    return found


def _holder(made: Json, place: Place) -> Any:
    found: Any = made
    for one in place[:-1]:
        found = found[one]
    return found


def _pick(draw: random.Random, made: Json, *kinds: type) -> tuple[Place, Any] | None:
    found = [one for one in _walk(made) if len(one[0]) > 1 and type(one[1]) in kinds]
    return draw.choice(found) if found else None


def _settings(draw: random.Random, made: Json) -> None:
    if draw.random() < 0.4:
        made["profile"] = draw.choice(("default", "all", *PROFILES))
    elif draw.random() < 0.8:
        made["features"][draw.choice(tuple(GATES))] = draw.random() < 0.5
    else:
        made["variant"] = draw.choice(("stable", "incubating", "experimental"))


def _replace(draw: random.Random, made: Json) -> None:
    """Put something of the same name in the place of a part."""
    found = _pick(draw, made, dict, list, str, int, bool)
    if found is not None:
        others = _known().get((_name_of(found[0]), type(found[1])))
        if others:
            _holder(made, found[0])[found[0][-1]] = copy.deepcopy(draw.choice(others))


def _add(draw: random.Random, made: Json) -> None:
    """Give an object a field that others of its name have."""
    found = _pick(draw, made, dict)
    others = _known().get((_name_of(found[0]), dict)) if found else None
    if found is not None and others:
        other = draw.choice(others)
        if other:
            key = draw.choice(list(other))
            found[1][key] = copy.deepcopy(other[key])


def _remove(draw: random.Random, made: Json) -> None:
    found = _pick(draw, made, dict, list, str, int, bool)
    if found is not None and isinstance(found[0][-1], str) and found[0][-1] not in _NEEDED:
        del _holder(made, found[0])[found[0][-1]]


def _items(draw: random.Random, made: Json) -> None:
    """Change the items of a list."""
    found = _pick(draw, made, list)
    if found is None or not found[1]:
        return
    items = found[1]
    number = draw.random()
    if number < 0.4:
        items.insert(draw.randint(0, len(items)), copy.deepcopy(draw.choice(items)))
    elif number < 0.6:
        del items[draw.randrange(len(items))]
    elif number < 0.8:
        draw.shuffle(items)
    else:
        other = draw.choice(_known()[_name_of(found[0]), list])
        items += copy.deepcopy(other[:2])


def _value(draw: random.Random, made: Json) -> None:
    """Put a number to some limit."""
    found = _pick(draw, made, int, str)
    if found is None:
        return
    place, value = found
    if isinstance(value, int):
        _holder(made, place)[place[-1]] = draw.choice((*_NUMBERS, value + 1))
    elif value[:1].isdigit() and place[-1] not in ("shareID", "version"):
        _holder(made, place)[place[-1]] = draw.choice(_QUANTITIES)


_CHANGES: Final = (_settings, _replace, _replace, _add, _remove, _items, _items, _value)
