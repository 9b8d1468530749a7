"""From the path of a field, as the API names it, to its value and its line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any
from typing import Final

from pytest_dra.objects.reading import Given

_INDEX: Final = re.compile(r"\[(\d{1,9})\]")
_PLAIN: Final = re.compile(r"[^.\[]+")
_END: Final = re.compile(r"[.\[]")
_CLOSING: Final = re.compile(r"\]")

ENDS_MAX: Final = 64
"""Places at which a name may end that are looked at: names of the API have a few dots."""


def line_of(given: Given, path: str) -> int:
    """The line of a field; of what would contain it where it is not there."""
    line = given.line
    value: Any = given.body
    for step in _steps(given.body, path):
        if not _has(value, step):
            break
        found = given.places.child(value, step) if given.places else 0
        line, value = found or line, value[step]
    return line


def value_at(given: Given, path: str) -> Any:
    """The value of a field; None where it is not there."""
    value: Any = given.body
    found = None
    for step in _steps(given.body, path):
        if not _has(value, step):
            return None
        value = found = value[step]
    return found


def _has(value: Any, step: str | int) -> bool:
    if type(value) is dict:
        return step in value
    return type(value) is list and isinstance(step, int) and step < len(value)


def _steps(body: Any, path: str) -> Iterator[str | int]:
    """Take a path apart. Keys of mappings stand in brackets, and may hold dots and brackets.

    So what is there decides where a key ends.
    """
    value, rest = body, path
    while rest:
        step: str | int
        index = _INDEX.match(rest)
        if rest[0] == "[" and type(value) is dict:
            key = _key(value, rest)
            step, rest = key, rest[len(key) + 2 :]
        elif index is not None:
            step, rest = int(index[1]), rest[index.end() :]
        else:
            rest = rest.removeprefix(".")
            name = _name(value, rest)
            if not name:
                return
            step, rest = name, rest[len(name) :]
        yield step
        value = value[step] if _has(value, step) else None


def _name(value: Any, rest: str) -> str:
    """The name that a path goes on with: a key that is there, else up to the next dot."""
    plain = _PLAIN.match(rest)
    if type(value) is dict:
        ends = [found.start() for found in itertools.islice(_END.finditer(rest), ENDS_MAX)]
        for end in reversed([*ends, len(rest)]):
            if rest[:end] in value:
                return rest[:end]
    return plain[0] if plain else ""


def _key(value: dict[str, Any], rest: str) -> str:
    """The key in brackets at the start of a path: the longest one that is there."""
    ends = [found.start() for found in itertools.islice(_CLOSING.finditer(rest), ENDS_MAX)]
    for end in reversed(ends):
        if rest[1:end] in value:
            return rest[1:end]
    return rest[1:].partition("]")[0]
