"""Macros: calls that the parser replaces by comprehensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from typing import Protocol

from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import Entry
from pytest_dra.cel.tree import Field
from pytest_dra.cel.tree import Fold
from pytest_dra.cel.tree import Ident
from pytest_dra.cel.tree import ListNode
from pytest_dra.cel.tree import MapNode
from pytest_dra.cel.tree import Message
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import Select

ACCUMULATOR: Final = "@result"
"""Name of the accumulator; no expression can spell it."""

OLD_ACCUMULATOR: Final = "__result__"
"""Its former name, still refused as a variable of comprehension macros."""

UNUSED: Final = "#unused"
SORT_INPUT: Final = "@__sortBy_input__"


class MacroError(ValueError):
    """The arguments do not fit. ``offset`` is where, ``kind`` the class, the argument says why."""

    def __init__(self, offset: int, message: str, kind: str = "macro") -> None:
        super().__init__(message)
        self.offset = offset
        self.kind = kind


class Factory(Protocol):
    """Gives ids to the nodes that macros make."""

    def next_id(self) -> int:
        """An unused id."""


class Maker:
    """Makes nodes at the position of the macro."""

    def __init__(self, ids: Factory, offset: int) -> None:
        self.ids = ids
        self.offset = offset

    def const(self, value: object) -> Const:
        """A literal."""
        return Const(self.ids.next_id(), self.offset, value)

    def ident(self, name: str) -> Ident:
        """A name."""
        return Ident(self.ids.next_id(), self.offset, name)

    def accu(self) -> Ident:
        """The accumulator."""
        return self.ident(ACCUMULATOR)

    def list(self, *elements: Node) -> ListNode:
        """A list literal."""
        return ListNode(self.ids.next_id(), self.offset, list(elements))

    def call(self, function: str, *args: Node) -> Call:
        """A global call."""
        return Call(self.ids.next_id(), self.offset, function, None, list(args))

    def member(self, function: str, target: Node, *args: Node) -> Call:
        """A member call."""
        return Call(self.ids.next_id(), self.offset, function, target, list(args))

    def fold(
        self, over: Node, names: tuple[str, str], init: Node, condition: Node, step: Node,
        result: Node, accu: str = ACCUMULATOR,
    ) -> Fold:  # fmt: skip
        """A comprehension; ``names`` are the one or two variables."""
        return Fold(
            self.ids.next_id(), self.offset, over, names[0], names[1], accu, init, condition,
            step, result,
        )  # fmt: skip

    def bind(self, name: str, value: Node, result: Node) -> Fold:
        """``result`` with ``name`` bound to ``value``, which is evaluated when first used."""
        return self.fold(
            self.list(), (UNUSED, ""), value, self.const(value=False), self.ident(name), result,
            name,
        )  # fmt: skip

    def copy(self, node: Node) -> Node:
        """The same expression with new ids, at its old positions."""
        made = self.ids.next_id()
        if isinstance(node, Const):
            return Const(made, node.offset, node.value)
        if isinstance(node, Ident):
            return Ident(made, node.offset, node.name)
        if isinstance(node, Select):
            return Select(made, node.offset, self.copy(node.operand), node.field, node.test)
        if isinstance(node, Call):
            args = [self.copy(arg) for arg in node.args]
            target = None if node.target is None else self.copy(node.target)
            return Call(made, node.offset, node.function, target, args)
        if isinstance(node, ListNode):
            elements = [self.copy(element) for element in node.elements]
            return ListNode(made, node.offset, elements, node.optionals)
        return self._copy_rest(made, node)

    def _copy_rest(self, made: int, node: MapNode | Message | Fold) -> Node:
        if isinstance(node, MapNode):
            return MapNode(
                made,
                node.offset,
                [
                    Entry(
                        self.ids.next_id(),
                        e.offset,
                        self.copy(e.key),
                        self.copy(e.value),
                        e.optional,
                    )
                    for e in node.entries
                ],
            )
        if isinstance(node, Message):
            return Message(
                made,
                node.offset,
                node.type_name,
                [
                    Field(self.ids.next_id(), f.offset, f.name, self.copy(f.value), f.optional)
                    for f in node.fields
                ],
            )
        return Fold(
            made, node.offset, self.copy(node.range), node.iter1, node.iter2, node.accu,
            self.copy(node.init), self.copy(node.condition), self.copy(node.step),
            self.copy(node.result),
        )  # fmt: skip


Expander = Callable[[Maker, Node, list[Node]], "Node | None"]


def _name(node: Node, message: str) -> str:
    if not isinstance(node, Ident) or _is_fault(node):
        raise MacroError(node.offset, message)
    return node.name


def _is_fault(node: Node) -> bool:
    """True for what stands in for a faulty expression, see :meth:`Reader.report`."""
    return isinstance(node, Ident) and not node.name


def _variables(args: list[Node], message: str) -> tuple[str, str]:
    """The variables of a comprehension: one name, or two where ``args`` holds two."""
    names = [_name(arg, message) for arg in args]
    if len(names) == 2 and names[0] == names[1]:
        raise MacroError(args[1].offset, f"duplicate variable name: {names[0]}")
    for arg, name in zip(args, names, strict=False):
        if name in (ACCUMULATOR, OLD_ACCUMULATOR):
            raise MacroError(arg.offset, "the variable hides the accumulator")
    return names[0], names[1] if len(names) == 2 else ""


_SIMPLE: Final = "the argument must be a simple name"


def _all(m: Maker, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:-1], _SIMPLE)
    init = m.const(value=True)
    condition = m.call("@not_strictly_false", m.accu())
    return m.fold(target, names, init, condition, m.call("_&&_", m.accu(), args[-1]), m.accu())


def _exists(m: Maker, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:-1], _SIMPLE)
    init = m.const(value=False)
    condition = m.call("@not_strictly_false", m.call("!_", m.accu()))
    return m.fold(target, names, init, condition, m.call("_||_", m.accu(), args[-1]), m.accu())


def _exists_one(m: Maker, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:-1], _SIMPLE)
    step = m.call("_?_:_", args[-1], m.call("_+_", m.accu(), m.const(1)), m.accu())
    result = m.call("_==_", m.accu(), m.const(1))
    return m.fold(target, names, m.const(0), m.const(value=True), step, result)


def _collect(m: Maker, target: Node, names: tuple[str, str], parts: list[Node]) -> Node:
    """A list of the last of ``parts``, filtered by the first where there are two."""
    step: Node = m.call("_+_", m.accu(), m.list(parts[-1]))
    if len(parts) == 2:
        step = m.call("_?_:_", parts[0], step, m.accu())
    return m.fold(target, names, m.list(), m.const(value=True), step, m.accu())


def _map(m: Maker, target: Node, args: list[Node]) -> Node:
    return _collect(m, target, _variables(args[:1], _SIMPLE), args[1:])


def _filter(m: Maker, target: Node, args: list[Node]) -> Node:
    return _collect(m, target, _variables(args[:1], _SIMPLE), [args[1], args[0]])


def _transform_list(m: Maker, target: Node, args: list[Node]) -> Node:
    return _collect(m, target, _variables(args[:2], _SIMPLE), args[2:])


def _insert(m: Maker, target: Node, args: list[Node], *, key: bool) -> Node:
    names = _variables(args[:2], _SIMPLE)
    parts = [m.accu(), m.ident(names[0]), args[-1]] if key else [m.accu(), args[-1]]
    step: Node = m.call("cel.@mapInsert", *parts)
    if len(args) == 4:
        step = m.call("_?_:_", args[2], step, m.accu())
    init = MapNode(m.ids.next_id(), m.offset, [])
    return m.fold(target, names, init, m.const(value=True), step, m.accu())


def _transform_map(m: Maker, target: Node, args: list[Node]) -> Node:
    return _insert(m, target, args, key=True)


def _transform_entry(m: Maker, target: Node, args: list[Node]) -> Node:
    return _insert(m, target, args, key=False)


def _has(m: Maker, _target: Node, args: list[Node]) -> Node:
    operand = args[0]
    if not isinstance(operand, Select):
        raise MacroError(operand.offset, "has() takes a field, as in has(a.b)")
    return Select(m.ids.next_id(), m.offset, operand.operand, operand.field, test=True)


def _bind(m: Maker, target: Node, args: list[Node]) -> Node | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    return m.bind(_name(args[0], "cel.bind() takes a simple name"), args[1], args[2])


def _optional(m: Maker, target: Node, args: list[Node], *, flat: bool) -> Node:
    name = _name(args[0], "the variable must be a simple name")
    inner: Node = m.bind(name, m.member("value", m.copy(target)), args[1])
    if not flat:
        inner = m.call("optional.of", inner)
    return m.call("_?_:_", m.member("hasValue", target), inner, m.call("optional.none"))


def _opt_map(m: Maker, target: Node, args: list[Node]) -> Node:
    return _optional(m, target, args, flat=False)


def _opt_flat_map(m: Maker, target: Node, args: list[Node]) -> Node:
    return _optional(m, target, args, flat=True)


def _sort_by(m: Maker, target: Node, args: list[Node]) -> Node:
    if _is_fault(target) or not isinstance(target, (ListNode, Select, Ident, Fold, Call)):
        raise MacroError(target.offset, "sortBy() takes a list or what gives one", "other")
    keys = _map(m, m.ident(SORT_INPUT), args)
    return m.bind(SORT_INPUT, target, m.member("@sortByAssociatedKeys", m.ident(SORT_INPUT), keys))


GLOBAL: Final[dict[tuple[str, int], Expander]] = {("has", 1): _has}

STANDARD: Final[dict[tuple[str, int], Expander]] = {
    ("all", 2): _all,
    ("exists", 2): _exists,
    ("exists_one", 2): _exists_one,
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("bind", 3): _bind,
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_flat_map,
    ("all", 3): _all,
    ("exists", 3): _exists,
    ("existsOne", 3): _exists_one,
    ("exists_one", 3): _exists_one,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_entry,
    ("transformMapEntry", 4): _transform_entry,
}
"""Member macros of every release from 1.34, by name and number of arguments."""

LISTS: Final[dict[tuple[str, int], Expander]] = {("sortBy", 2): _sort_by}
"""Those that come with the list functions of CEL."""
