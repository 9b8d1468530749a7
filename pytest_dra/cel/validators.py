"""Checks of literals after the type check: durations, timestamps, patterns, templates, lists."""

from __future__ import annotations

from pytest_dra.cel import format as formats
from pytest_dra.cel import regex
from pytest_dra.cel import times
from pytest_dra.cel import types
from pytest_dra.cel.checker import Checked
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import Problem
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import ListNode
from pytest_dra.cel.tree import MapNode
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import children
from pytest_dra.cel.tree import walk
from pytest_dra.cel.types import CelType

_CLAUSE_KINDS = {
    "d": ("int", "uint"), "f": ("double", "string"), "e": ("double", "string"),
    "b": ("int", "uint", "bool"), "o": ("int", "uint"), "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
    "s": (
        "list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration",
        "type", "null",
    ),
}  # fmt: skip

_MOMENTS = ("timestamp", "duration")


def validate(checked: Checked) -> list[Problem]:
    """Problems of literals that the type check does not see."""
    found: list[Problem] = []
    for node in walk(checked.root):
        if isinstance(node, Call) and node.args and isinstance(node.args[0], Const):
            found.extend(_literal(node, node.args[0]))
    found.extend(_mixed(checked))
    for node in walk(checked.root):
        if isinstance(node, Call) and node.function == "format":
            found.extend(_template(node, checked))
    return found


def _literal(node: Call, arg: Const) -> list[Problem]:
    """A duration, a timestamp or a pattern that is none."""
    name, value = node.function, arg.value
    if not isinstance(value, str):
        if (value is not None and value.__class__ is not int) or name not in _MOMENTS:
            return []
        # A number of seconds may be out of range; an int was never a duration, nor null anything.
        fault = (
            name == "duration" or value is None or isinstance(times.from_seconds(value), CelError)
        )
    elif name == "duration":
        fault = isinstance(times.duration_of(value), CelError)
    elif name == "timestamp":
        fault = isinstance(times.timestamp_of(value), CelError)
    elif name == "matches":
        try:
            regex.pattern(value)
            fault = False
        except regex.RegexError:
            fault = True
    else:
        return []
    if not fault:
        return []
    word = {"matches": "regex"}.get(name, name)
    text = f"no {'regular expression' if word == 'regex' else word}: {str(value)[:60]!r}"
    return [Problem(kind=f"literal-{word}", message=text, offset=arg.offset)]


def _template(node: Call, checked: Checked) -> list[Problem]:
    target = node.target
    if not isinstance(target, Const) or not isinstance(target.value, str):
        return []
    arguments = node.args[0]
    if not isinstance(arguments, ListNode):
        return []
    count = 0
    try:
        for part in formats.parse(target.value, len(arguments.elements)):
            if not isinstance(part, str):
                count += 1
                problem = _argument(part, arguments.elements[part.argument], checked)
                if problem is not None:
                    return [problem]
    except formats.FormatFault as error:
        return [Problem(kind="literal-format", message=str(error), offset=node.offset)]
    if len(arguments.elements) > count:
        text = f"{len(arguments.elements)} arguments for {count} clauses"
        return [Problem(kind="literal-format", message=text, offset=node.offset)]
    return []


def _argument(clause: formats.Clause, node: Node, checked: Checked) -> Problem | None:
    bad = _unfit(node, _CLAUSE_KINDS[clause.verb], checked, nested=clause.verb == "s")
    if bad is None:
        return None
    kind = checked.kinds[bad.id]
    text = f"%{clause.verb} does not take a value of type {kind}"
    return Problem(kind="literal-format", message=text, offset=bad.offset)


def _unfit(node: Node, kinds: tuple[str, ...], checked: Checked, *, nested: bool) -> Node | None:
    kind = checked.kinds[node.id]
    if kind.kind != "dyn" and kind.kind not in kinds:
        return node
    if nested and isinstance(node, (ListNode, MapNode)):
        for child in children(node):
            bad = _unfit(child, kinds, checked, nested=True)
            if bad is not None:
                return bad
    return None


def _mixed(checked: Checked) -> list[Problem]:
    """Literals whose elements have different types, outside of ``format``."""
    found: list[Problem] = []
    pending: list[Node] = [checked.root]
    lists: list[ListNode] = []
    maps: list[MapNode] = []
    while pending:
        node = pending.pop()
        if isinstance(node, Call) and node.function == "format":
            continue
        if isinstance(node, ListNode):
            lists.append(node)
        elif isinstance(node, MapNode):
            maps.append(node)
        pending.extend(reversed(children(node)))
    for literal in lists:
        pairs = [
            (element, _inner(checked.kinds[element.id], optional=index in literal.optionals))
            for index, element in enumerate(literal.elements)
        ]
        problem = _first_other(pairs)
        if problem is not None:
            found.append(problem)
    for mapping in maps:
        found.extend(_mixed_map(mapping, checked))
    return found


def _inner(kind: CelType, *, optional: bool) -> CelType:
    if optional and not kind.params:
        raise BrokenLiteral
    return kind.params[0] if optional else kind


class BrokenLiteral(ValueError):
    """A question mark before a value that is no optional for sure."""


def _first_other(pairs: list[tuple[Node, CelType]]) -> Problem | None:
    for node, kind in pairs[1:]:
        if not types.equivalent(pairs[0][1], kind):
            return _mismatch(node, pairs[0][1], kind)
    return None


def _mismatch(node: Node, wanted: CelType, kind: CelType) -> Problem:
    text = f"expected type {wanted}, found {kind}: a literal holds one type only"
    return Problem(kind="type-mismatch", message=text, offset=node.offset)


def _mixed_map(node: MapNode, checked: Checked) -> list[Problem]:
    found = []
    first: tuple[CelType, CelType] | None = None
    for entry in node.entries:
        key = checked.kinds[entry.key.id]
        value = _inner(checked.kinds[entry.value.id], optional=entry.optional)
        if first is None:
            first = key, value
            continue
        if not types.equivalent(first[0], key):
            found.append(_mismatch(entry.key, first[0], key))
        if not types.equivalent(first[1], value):
            found.append(_mismatch(entry.value, first[1], value))
    return found
