"""The syntax tree. Every node has an id, unique in its tree, and the offset where it begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator


@dataclasses.dataclass(slots=True, eq=False)
class Const:
    """A literal; ``value`` is a CEL value."""

    id: int
    offset: int
    value: object


@dataclasses.dataclass(slots=True, eq=False)
class Ident:
    """A name. A leading dot is kept: it asks for the global of that name."""

    id: int
    offset: int
    name: str


@dataclasses.dataclass(slots=True, eq=False)
class Select:
    """``operand.field``, or the presence test of ``has`` if ``test``."""

    id: int
    offset: int
    operand: Node
    field: str
    test: bool = False


@dataclasses.dataclass(slots=True, eq=False)
class Call:
    """A function or operator; ``target`` is None for global ones."""

    id: int
    offset: int
    function: str
    target: Node | None
    args: list[Node]


@dataclasses.dataclass(slots=True, eq=False)
class ListNode:
    """A list literal; ``optionals`` are the indices of elements with a question mark."""

    id: int
    offset: int
    elements: list[Node]
    optionals: frozenset[int] = frozenset()


@dataclasses.dataclass(slots=True, eq=False)
class Entry:
    """One entry of a map literal."""

    id: int
    offset: int
    key: Node
    value: Node
    optional: bool


@dataclasses.dataclass(slots=True, eq=False)
class MapNode:
    """A map literal."""

    id: int
    offset: int
    entries: list[Entry]


@dataclasses.dataclass(slots=True, eq=False)
class Field:
    """One field of a message literal."""

    id: int
    offset: int
    name: str
    value: Node
    optional: bool


@dataclasses.dataclass(slots=True, eq=False)
class Message:
    """A message literal."""

    id: int
    offset: int
    type_name: str
    fields: list[Field]


@dataclasses.dataclass(slots=True, eq=False)
class Fold:
    """What comprehension macros and ``cel.bind`` expand to. ``iter2`` is "" for one variable."""

    id: int
    offset: int
    range: Node
    iter1: str
    iter2: str
    accu: str
    init: Node
    condition: Node
    step: Node
    result: Node


Node = Const | Ident | Select | Call | ListNode | MapNode | Message | Fold


def children(node: Node) -> list[Node]:
    """The direct sub-expressions, in the order of evaluation."""
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return node.args if node.target is None else [node.target, *node.args]
    if isinstance(node, ListNode):
        return node.elements
    if isinstance(node, MapNode):
        return [part for entry in node.entries for part in (entry.key, entry.value)]
    if isinstance(node, Message):
        return [field.value for field in node.fields]
    if isinstance(node, Fold):
        return [node.range, node.init, node.condition, node.step, node.result]
    return []


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, without recursion."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(children(current)))


def depth(node: Node) -> int:
    """Levels of the tree below and including the node."""
    deepest = 0
    pending = [(node, 1)]
    while pending:
        current, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in children(current))
    return deepest
