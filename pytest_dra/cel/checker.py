"""The type checker: names, overloads, types of all sub-expressions."""

from __future__ import annotations

import dataclasses
from typing import Final

from pytest_dra.cel import hints
from pytest_dra.cel import messages
from pytest_dra.cel import types
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.errors import Problem
from pytest_dra.cel.signatures import Overload
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import Fold
from pytest_dra.cel.tree import Ident
from pytest_dra.cel.tree import ListNode
from pytest_dra.cel.tree import MapNode
from pytest_dra.cel.tree import Message
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import Select
from pytest_dra.cel.types import CelType
from pytest_dra.cel.values import Uint

NULL_VALUE: Final = "google.protobuf.NullValue.NULL_VALUE"
"""The only enum constant within reach; its value is 0."""

_CONST_TYPES: Final = {
    bool: types.BOOL, int: types.INT, Uint: types.UINT, float: types.DOUBLE, str: types.STRING,
    bytes: types.BYTES, type(None): types.NULL,
}  # fmt: skip


@dataclasses.dataclass(slots=True)
class Checked:
    """A tree with its types. ``names`` are globals by node id, ``overloads`` ids of overloads."""

    root: Node
    kinds: dict[int, CelType]
    names: dict[int, str]
    overloads: dict[int, list[str]]

    @property
    def output(self) -> CelType:
        """Type of the expression."""
        return self.kinds[self.root.id]


def check(root: Node, env: Environment) -> tuple[Checked, list[Problem]]:
    """Types of a tree; calls of qualified functions lose their target in place."""
    checker = _Checker(env)
    checker.check(root)
    resolve = checker.bindings.resolve
    kinds = {key: resolve(kind, free_is_dyn=True) for key, kind in checker.kinds.items()}
    return Checked(root, kinds, checker.names, checker.overloads), checker.problems


class _Checker:
    def __init__(self, env: Environment) -> None:
        self.env = env
        self.kinds: dict[int, CelType] = {}
        self.names: dict[int, str] = {}
        self.overloads: dict[int, list[str]] = {}
        self.problems: list[Problem] = []
        self.bindings = types.Bindings()
        self.scopes: list[dict[str, CelType]] = []

    def report(self, kind: str, message: str, offset: int, hint: str = "") -> None:
        self.problems.append(Problem(kind=kind, message=message, offset=offset, hint=hint))

    def check(self, node: Node) -> CelType:
        if isinstance(node, Const):
            kind = _CONST_TYPES[node.value.__class__]
        elif isinstance(node, Ident):
            kind = self.ident(node)
        elif isinstance(node, Select):
            kind = self.select(node)
        elif isinstance(node, Call):
            kind = self.call(node)
        elif isinstance(node, ListNode):
            kind = self.list_literal(node)
        elif isinstance(node, MapNode):
            kind = self.map_literal(node)
        elif isinstance(node, Message):
            kind = self.message(node)
        else:
            kind = self.fold(node)
        self.kinds[node.id] = kind
        return kind

    # -- names

    def local(self, name: str) -> CelType | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def global_name(self, name: str) -> CelType | None:
        name = name.removeprefix(".")
        if name in self.env.names:
            return self.env.names[name]
        if name == NULL_VALUE:
            return types.INT
        prefix = types.DEVICE.name + "."
        if name in (prefix + "attributes", prefix + "capacity"):
            return types.type_of(self.env.fields[name[len(prefix) :]])
        named = self.env.type_named(name)
        return None if named is None else types.type_of(named)

    def ident(self, node: Ident) -> CelType:
        if not node.name.startswith("."):
            local = self.local(node.name)
            if local is not None:
                return local
        kind = self.global_name(node.name)
        if kind is None:
            hint = hints.undeclared_name(node.name)
            self.report("undeclared", f"undeclared name {node.name!r}", node.offset, hint)
            return types.ERROR
        self.names[node.id] = node.name.removeprefix(".")
        return kind

    def qualified(self, node: Node) -> str:
        """``a.b.c`` if the node is such a chain of names, else ""."""
        parts = []
        while isinstance(node, Select) and not node.test:
            parts.append(node.field)
            node = node.operand
        if not isinstance(node, Ident):
            return ""
        parts.append(node.name)
        return ".".join(reversed(parts))

    # -- fields

    def select(self, node: Select) -> CelType:
        name = "" if node.test else self.qualified(node)
        if name and (name.startswith(".") or self.local(name.split(".")[0]) is None):
            kind = self.global_name(name)
            if kind is not None:
                self.names[node.id] = name.removeprefix(".")
                return kind
        kind = self.field(node.operand, node.field, node.offset)
        return types.BOOL if node.test else self.bindings.resolve(kind)

    def field(self, operand: Node, field: str, offset: int, *, optional: bool = False) -> CelType:
        """The type of a field; an optional one if that is asked for or the operand is one."""
        outer = self.bindings.resolve(self.check(operand))
        unwraps = types.is_optional(outer)
        kind = outer.params[0] if unwraps else outer
        if kind.kind == "map":
            result = kind.params[1]
        elif kind.kind == "struct":
            result = self.struct_field(kind, field, offset)
        else:
            if kind.kind == "param":
                self.bindings.assignable([types.DYN], [kind])
            elif kind.kind not in ("dyn", "any", "error"):
                hint = hints.no_fields(kind)
                self.report("field-selection", f"type {kind} has no fields", offset, hint)
            result = types.DYN
        return types.optional_of(result) if optional or unwraps else result

    def struct_field(self, kind: CelType, field: str, offset: int) -> CelType:
        fields = self.env.fields if kind == types.DEVICE else messages.FIELDS.get(kind.name, {})
        if field in fields:
            return fields[field]
        hint = hints.undefined_field(kind, field, fields)
        self.report("undefined-field", f"undefined field {field!r} of {kind}", offset, hint)
        return types.ERROR

    # -- calls

    def call(self, node: Call) -> CelType:
        if node.function == "_?._":
            key = node.args[1]
            name = str(key.value) if isinstance(key, Const) else ""
            kind = self.field(node.args[0], name, node.offset, optional=True)
            self.kinds[key.id] = types.STRING
            self.overloads[node.id] = ["select_optional_field"]
            return self.bindings.resolve(kind)
        args = [self.check(arg) for arg in node.args]
        if node.target is not None:
            prefix = self.qualified(node.target)
            full = f"{prefix.removeprefix('.')}.{node.function}" if prefix else ""
            if full in self.env.functions:
                node.function = full
                node.target = None
            else:
                args.insert(0, self.check(node.target))
        else:
            node.function = node.function.removeprefix(".")
        overloads = self.env.functions.get(node.function)
        if overloads is None:
            hint = hints.undeclared_function(node, self.env)
            self.report("undeclared", f"undeclared function {node.function!r}", node.offset, hint)
            return types.ERROR
        if node.function in ("_&&_", "_||_"):
            return self.logic(node, overloads[0], args)
        return self.resolve(node, overloads, args)

    def logic(self, node: Call, overload: Overload, args: list[CelType]) -> CelType:
        bad = False
        for arg, kind in zip(node.args, args, strict=False):
            if not self.bindings.assignable([kind], [types.BOOL]):
                kind = self.bindings.resolve(kind, free_is_dyn=True)
                self.report("type-mismatch", f"expected type bool, found {kind}", arg.offset)
                bad = True
        if bad:
            return types.ERROR
        self.overloads[node.id] = [overload.id]
        return types.BOOL

    def resolve(self, node: Call, overloads: list[Overload], args: list[CelType]) -> CelType:
        result: CelType | None = None
        found: list[str] = []
        member = node.target is not None
        for overload in overloads:
            if overload.member != member or len(overload.args) != len(args):
                continue
            wanted, made = list(overload.args), overload.result
            if overload.generic:
                fresh: dict[str, CelType] = {}
                wanted = [self.instance(kind, fresh) for kind in wanted]
                made = self.instance(made, fresh)
            if not self.bindings.assignable(args, wanted):
                continue
            found.append(overload.id)
            made = self.bindings.resolve(made)
            if result is None:
                result = made
            elif not types.is_dyn(result) and made != result:
                result = types.DYN
        if result is None:
            self.no_overload(node, args)
            return types.ERROR
        self.overloads[node.id] = found
        return result

    def instance(self, kind: CelType, fresh: dict[str, CelType]) -> CelType:
        """``kind`` with variables of its own."""
        if kind.kind == "param":
            if kind.name not in fresh:
                fresh[kind.name] = self.bindings.fresh()
            return fresh[kind.name]
        if not kind.params:
            return kind
        return CelType(kind.kind, kind.name, tuple(self.instance(p, fresh) for p in kind.params))

    def no_overload(self, node: Call, args: list[CelType]) -> None:
        kinds = [self.bindings.resolve(kind, free_is_dyn=True) for kind in args]
        if node.target is not None:
            shown = f"{kinds[0]}.({', '.join(map(str, kinds[1:]))})"
        else:
            shown = f"({', '.join(map(str, kinds))})"
        name = hints.shown_operator(node.function)
        hint = hints.no_overload(node.function, kinds)
        self.report("no-overload", f"no overload of {name} for {shown}", node.offset, hint)

    # -- literals

    def join(self, before: CelType | None, kind: CelType) -> CelType:
        """The common type; a validator complains of mixed ones where they are not allowed."""
        if before is None:
            return kind
        if self.bindings.assignable([before], [kind]):
            return types.most_general(before, kind)
        return types.DYN

    def mismatch(self, node: Node, wanted: CelType, kind: CelType) -> None:
        resolve = self.bindings.resolve
        wanted, kind = resolve(wanted, free_is_dyn=True), resolve(kind, free_is_dyn=True)
        self.report("type-mismatch", f"expected type {wanted}, found {kind}", node.offset)

    def unwrapped(self, node: Node, kind: CelType) -> CelType:
        """The type inside the optional that a question mark asks for."""
        if types.is_optional(kind):
            return kind.params[0]
        if not types.is_dyn(kind):
            self.mismatch(node, types.optional_of(kind), kind)
        return kind

    def list_literal(self, node: ListNode) -> CelType:
        joined: CelType | None = None
        for index, element in enumerate(node.elements):
            kind = self.check(element)
            if index in node.optionals:
                kind = self.unwrapped(element, kind)
            joined = self.join(joined, kind)
        return types.list_of(joined or self.bindings.fresh())

    def map_literal(self, node: MapNode) -> CelType:
        key: CelType | None = None
        value: CelType | None = None
        for entry in node.entries:
            key = self.join(key, self.check(entry.key))
            kind = self.check(entry.value)
            if entry.optional:
                kind = self.unwrapped(entry.value, kind)
            value = self.join(value, kind)
        return types.map_of(key or self.bindings.fresh(), value or self.bindings.fresh())

    def message(self, node: Message) -> CelType:
        name = node.type_name.removeprefix(".")
        node.type_name = name
        named = self.env.type_named(name)
        if named is None:
            hint = hints.undeclared_name(name)
            self.report("undeclared", f"undeclared message {name!r}", node.offset, hint)
            return types.ERROR
        known = messages.FIELDS.get(name)
        if known is None and named != types.DEVICE:
            self.report("other", f"{name} is not a message type", node.offset)
        for field in node.fields:
            kind = self.check(field.value)
            wanted = (self.env.fields if known is None else known).get(field.name)
            if wanted is None:
                self.report("undefined-field", f"undefined field {field.name!r}", field.offset)
                wanted = types.ERROR
            if field.optional:
                kind = self.unwrapped(field.value, kind)
            if not self.bindings.assignable([wanted], [kind]):
                text = f"expected type of field {field.name!r} is {wanted}, found {kind}"
                self.report("type-mismatch", text, field.offset)
        return named if known is not None or named == types.DEVICE else types.ERROR

    # -- comprehensions

    def fold(self, node: Fold) -> CelType:
        self.check(node.range)
        accu = self.check(node.init)
        over = self.bindings.resolve(self.kinds[node.range.id])
        self.scopes.append({node.accu: accu})
        first, second = self.iterated(node, over)
        inner = {node.iter1: first}
        if node.iter2:
            inner[node.iter2] = second
        self.scopes.append(inner)
        self.expect(node.condition, types.BOOL)
        self.expect(node.step, accu)
        self.scopes.pop()
        result = self.check(node.result)
        self.scopes.pop()
        return self.bindings.resolve(result)

    def expect(self, node: Node, wanted: CelType) -> None:
        kind = self.check(node)
        if not self.bindings.assignable([wanted], [kind]):
            self.mismatch(node, wanted, kind)

    def iterated(self, node: Fold, over: CelType) -> tuple[CelType, CelType]:
        """Types of the one or two variables."""
        if over.kind == "list":
            element = over.params[0]
            return (types.INT, element) if node.iter2 else (element, element)
        if over.kind == "map":
            return over.params[0], over.params[1]
        if over.kind in ("dyn", "error", "param"):
            self.bindings.assignable([types.DYN], [over])
            return types.DYN, types.DYN
        text = f"{over} cannot be iterated: want a list, a map or dyn"
        self.report("range-type", text, node.range.offset, hints.not_iterable(over))
        return types.ERROR, types.ERROR
