"""YAML of a report into plain data, with the line of each value.

Only what a report is written with is taken: mappings, lists and scalars of JSON. Aliases, merge
keys and tags, by which a small file can stand for a huge or an active one, are refused, as is a
key that stands twice. It takes half the time of PyYAML's own constructor.
"""

from __future__ import annotations

import dataclasses
import gc
import math
import re
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any

DEPTH_LIMIT = 64
"""Levels of nesting; a report has ten, and the profile in it may have some more."""

VALUES_LIMIT = 2_000_000
"""Keys and values of a document: twice those of a report of 100,000 nodes. Each takes 300 bytes and
some microseconds, so that a file of many small ones would cost far more than its size says."""

TAGS_LIMIT = 8192
"""Different scalars whose tags are remembered."""

REMEMBERED = 64
"""Characters of a scalar that is remembered: longer ones rarely occur twice."""

TAG = "tag:yaml.org,2002:"
WHOLE = re.compile(r"[-+]?[0-9]{1,300}")
TRUE = frozenset({"true", "yes", "on"})


class TreeError(Exception):
    """Something that no report has; ``line`` and ``column`` are from 1, 0 where unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        self.line = line
        self.column = column
        super().__init__(message)


@dataclasses.dataclass(frozen=True, slots=True)
class Tree:
    """A document: its data, and the node that it was made of."""

    data: object
    root: Any

    def line(self, place: tuple[str | int, ...]) -> int:
        """The line of a value, or of the nearest one round it; from 1, 0 of an empty document."""
        node = self.root
        for step in place:
            inner = _below(node, step)
            if inner is None:
                break
            node = inner
        return node.start_mark.line + 1 if node is not None else 0


def parse(text: str) -> Tree:
    """Parse one document.

    Raises:
        TreeError: it is no YAML, or has what no report has.
    """
    import yaml

    try:
        with uncollected():
            root = yaml.compose(text, _loader())
            return Tree(_value(root, set(), 0) if root is not None else None, root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise TreeError(f"not YAML: {error.problem or error.context}", *place) from error
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise TreeError("a character that YAML forbids", line) from error
    except RecursionError as error:
        raise TreeError("nested too deeply") from error


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave trees to their reference counts: half of the time goes into looking for cycles."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@lru_cache(maxsize=1)
def _loader() -> Any:
    """PyYAML's loader, which looks at each different plain scalar once: most occur many times."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolved = base("").resolve
    known = lru_cache(maxsize=TAGS_LIMIT)(resolved)

    def resolve(self: Any, kind: object, value: str | None, implicit: object) -> object:
        self.values += 1
        if self.values > VALUES_LIMIT:
            raise TreeError(f"more than {VALUES_LIMIT} keys and values")
        short = value is None or len(value) <= REMEMBERED
        return (known if short else resolved)(kind, value, implicit)

    return type("Loader", (base,), {"resolve": resolve, "values": 0})


def _value(node: Any, seen: set[int], depth: int) -> object:
    kind = node.id
    if kind == "scalar":
        make = MAKERS.get(node.tag)
        if make is None:
            raise _refusal(node, f"the tag {node.tag.removeprefix(TAG)} is refused")
        return make(node.value)
    if id(node) in seen:
        raise _refusal(node, "an alias of this is refused")
    seen.add(id(node))
    if depth == DEPTH_LIMIT:
        raise _refusal(node, f"nested more than {DEPTH_LIMIT} levels deep")
    if kind == "sequence":
        if node.tag != f"{TAG}seq":
            raise _refusal(node, f"the tag {node.tag.removeprefix(TAG)} is refused")
        return [_value(each, seen, depth + 1) for each in node.value]
    return _mapping(node, seen, depth)


def _mapping(node: Any, seen: set[int], depth: int) -> dict[str, object]:
    if node.tag != f"{TAG}map":
        raise _refusal(node, f"the tag {node.tag.removeprefix(TAG)} is refused")
    made: dict[str, object] = {}
    for key, each in node.value:
        if key.id != "scalar" or key.tag == f"{TAG}merge":
            raise _refusal(key, "merge keys and keys that are no text are refused")
        if key.value in made:
            raise _refusal(key, f"{key.value!r:.60} stands twice")
        made[key.value] = _value(each, seen, depth + 1)
    return made


def _refusal(node: Any, message: str) -> TreeError:
    return TreeError(message, node.start_mark.line + 1, node.start_mark.column + 1)


def _whole(text: str) -> object:
    return int(text) if WHOLE.fullmatch(text) else text


def _fraction(text: str) -> object:
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _text(text: str) -> object:
    return text


MAKERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        f"{TAG}str": _text,
        f"{TAG}timestamp": _text,
        f"{TAG}value": _text,
        f"{TAG}int": _whole,
        f"{TAG}float": _fraction,
        f"{TAG}bool": lambda text: text.lower() in TRUE,
        f"{TAG}null": lambda text: None,
    }
)
"""How a scalar becomes a value; the texts of numbers that JSON does not have stay texts."""


def _below(node: Any, step: str | int) -> Any:
    if node.id == "mapping":
        return next((value for key, value in node.value if key.value == step), None)
    if node.id == "sequence" and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    return None
