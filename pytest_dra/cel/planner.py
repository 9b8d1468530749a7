"""A checked tree to steps: constants folded, names bound to scopes, functions chosen."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.cel import functions
from pytest_dra.cel import operations
from pytest_dra.cel import regex
from pytest_dra.cel import runcost
from pytest_dra.cel import strings
from pytest_dra.cel.attributes import KEYS
from pytest_dra.cel.attributes import Attribute
from pytest_dra.cel.attributes import Chain
from pytest_dra.cel.attributes import Choice
from pytest_dra.cel.attributes import DynamicQualifier
from pytest_dra.cel.attributes import Qualifier
from pytest_dra.cel.building import ListStep
from pytest_dra.cel.building import MapStep
from pytest_dra.cel.building import MessageStep
from pytest_dra.cel.checker import NULL_VALUE
from pytest_dra.cel.checker import Checked
from pytest_dra.cel.environments import TYPE_VALUES
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import no_overload
from pytest_dra.cel.run import Scope
from pytest_dra.cel.signatures import Overload
from pytest_dra.cel.steps import AttributeStep
from pytest_dra.cel.steps import CallStep
from pytest_dra.cel.steps import ConstStep
from pytest_dra.cel.steps import FoldStep
from pytest_dra.cel.steps import LogicStep
from pytest_dra.cel.steps import MembershipStep
from pytest_dra.cel.steps import OrStep
from pytest_dra.cel.steps import Step
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import Fold
from pytest_dra.cel.tree import Ident
from pytest_dra.cel.tree import ListNode
from pytest_dra.cel.tree import MapNode
from pytest_dra.cel.tree import Message
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import Select
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import TypeValue
from pytest_dra.cel.values import Uint
from pytest_dra.cel.values import key_of
from pytest_dra.cel.values import lossless_int
from pytest_dra.cel.variables import device
from pytest_dra.cel.variables import named
from pytest_dra.cel.variables import reader

_FOLDED: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
"""Conversions that run during compilation if their argument is constant."""

_PATTERNS: Final = frozenset({"matches", "find", "findAll"})
_PRIMITIVES: Final = frozenset({bool, int, Uint, float, str})


class PlanError(ValueError):
    """The expression fails before it runs. ``kind`` is the class."""

    def __init__(self, message: str, kind: str = "program") -> None:
        super().__init__(message)
        self.kind = kind


def plan(checked: Checked, env: Environment) -> Step:
    """The steps of an expression.

    Raises:
        PlanError: a constant part of it fails.
    """
    return _Planner(checked, env).plan(checked.root)


@functools.lru_cache(maxsize=4)
def _implementations(minor: int) -> dict[str, functions.Function]:
    return functions.implementations(minor)


class _Planner:
    def __init__(self, checked: Checked, env: Environment) -> None:
        self.checked = checked
        self.env = env
        self.known = _implementations(env.minor)
        # Names of the enclosing comprehensions: accumulator, first and second variable.
        self.scopes: list[tuple[str, str, str]] = []

    def plan(self, node: Node) -> Step:
        if isinstance(node, Const):
            return ConstStep(node.id, node.value)
        if isinstance(node, Ident):
            return self.ident(node.id, node.name)
        if isinstance(node, Select):
            return self.select(node)
        if isinstance(node, Call):
            return self.call(node)
        if isinstance(node, ListNode):
            return self.list_literal(node)
        if isinstance(node, MapNode):
            return self.map_literal(node)
        if isinstance(node, Message):
            fields = [(f.name, self.plan(f.value), f.optional) for f in node.fields]
            return MessageStep(node.id, node.type_name, fields)
        return self.fold(node)

    # -- names and chains

    def ident(self, node: int, name: str) -> Step:
        name = self.checked.names.get(node, name)
        if name == NULL_VALUE and node in self.checked.names:
            return ConstStep(node, 0)
        if self.checked.kinds[node].kind == "type":
            if name not in TYPE_VALUES:
                raise PlanError(f"no type of the name {name}")
            return ConstStep(node, TypeValue(name))
        return AttributeStep(self.start(node, base=self.variable(node, name)))

    def variable(self, node: int, name: str) -> Callable[[Scope], object]:
        if node in self.checked.names:
            return device if name == "device" else named(name)
        for depth, names in enumerate(reversed(self.scopes)):
            if name in names:
                return reader(depth, names.index(name))
        raise PlanError(f"no variable {name}")

    def start(
        self, node: int, *, base: Callable[[Scope], object] | None = None,
        operand: Step | None = None,
    ) -> Chain:  # fmt: skip
        plain = self.env.minor < functions.FIRST_CHECKED
        return Chain(node, base=base, operand=operand, plain=plain)

    def chain(self, step: Step) -> AttributeStep:
        """The step as a chain that can be continued."""
        if isinstance(step, AttributeStep):
            return step
        return AttributeStep(self.start(step.id, operand=step))

    def select(self, node: Select) -> Step:
        if node.id in self.checked.names:
            return self.ident(node.id, "")
        step = self.chain(self.plan(node.operand))
        step.attribute.add(Qualifier(node.id, node.field, optional=False, test=node.test))
        return AttributeStep(step.attribute, test=True) if node.test else step

    def index(self, node: Call, *, optional: bool) -> Step:
        step = self.chain(self.plan(node.args[0]))
        key = self.plan(node.args[1])
        if isinstance(key, ConstStep):
            if key.value.__class__ not in KEYS:
                raise PlanError(f"no key: a {operations.type_name(key.value)}")
            step.attribute.add(Qualifier(node.id, key.value, optional=optional))
        elif isinstance(key, AttributeStep):
            source: Attribute = key.attribute
            step.attribute.add(DynamicQualifier(node.id, source, optional=optional, forgets=False))
        else:
            source = self.start(node.id, operand=key)
            step.attribute.add(DynamicQualifier(node.id, source, optional=optional, forgets=True))
        return step

    # -- literals

    def list_literal(self, node: ListNode) -> Step:
        elements = [self.plan(element) for element in node.elements]
        step = ListStep(node.id, elements, node.optionals)
        known = [element.value for element in elements if isinstance(element, ConstStep)]
        if len(known) == len(elements) and not node.optionals:
            return ConstStep(node.id, known)
        return step

    def map_literal(self, node: MapNode) -> Step:
        entries = [(self.plan(e.key), self.plan(e.value), e.optional) for e in node.entries]
        made = CelMap()
        for key, value, optional in entries:
            if optional or not isinstance(key, ConstStep) or not isinstance(value, ConstStep):
                return MapStep(node.id, entries)
        for key, value, _ in entries:
            try:
                made.put(*_constants(key, value))
            except TypeError as error:
                raise PlanError(str(error), "panic") from error
        return ConstStep(node.id, made)

    # -- calls

    def call(self, node: Call) -> Step:
        name = node.function
        if name in ("_[_]", "_[?_]", "_?._"):
            return self.index(node, optional=name != "_[_]")
        parts = node.args if node.target is None else [node.target, *node.args]
        args = [self.plan(part) for part in parts]
        if name in ("_&&_", "_||_"):
            return LogicStep(node.id, args, stop=name == "_||_")
        if name == "_?_:_":
            return self.choice(node.id, args)
        if name in ("or", "orValue") and len(args) == 2:
            checks = self.env.minor >= functions.FIRST_CHECKED
            unwraps = name == "orValue"
            return OrStep(node.id, args[0], args[1], unwraps=unwraps, checks=checks)
        overloads = self.checked.overloads.get(node.id, [])
        overload = overloads[0] if len(overloads) == 1 else ""
        cost = runcost.cost_of(name, overload, self.env.minor)
        if name == "_==_":
            return CallStep(node.id, args, operations.equal, cost, eager=True)
        if name == "_!=_":
            cost = runcost.cost_of(name, "not_equals", self.env.minor)
            return CallStep(node.id, args, _unequal, cost, eager=True)
        special = self.folded(node, args, overload, cost)
        return special or self.function(node, args, overload, cost)

    def folded(
        self, node: Call, args: list[Step], overload: str, cost: runcost.Cost
    ) -> Step | None:
        """What can be decided now: conversions, membership and patterns of constants."""
        name = node.function
        if name in _FOLDED and len(args) == 1 and isinstance(args[0], ConstStep):
            step = self.function(node, args, overload, cost)
            value = step.function(args[0].value)
            if isinstance(value, CelError):
                raise PlanError(value.message)
            return ConstStep(node.id, value)
        if overload == "in_list" and isinstance(args[1], ConstStep):
            return _membership(node.id, args[0], args[1].value)
        if name in _PATTERNS and len(args) > 1 and isinstance(args[1], ConstStep):
            return self.pattern(node, args, args[1].value, cost)
        return None

    def pattern(
        self, node: Call, args: list[Step], pattern: object, cost: runcost.Cost
    ) -> Step | None:
        if not isinstance(pattern, str):
            return None
        try:
            regex.pattern(pattern)
        except regex.RegexError as error:
            raise PlanError(str(error)) from error
        function = {
            "matches": _guarded_matches, "find": _guarded_find, "findAll": _guarded_find_all,
        }[node.function]  # fmt: skip
        return CallStep(node.id, args, function, cost, eager=False)

    def function(self, node: Call, args: list[Step], overload: str, cost: runcost.Cost) -> CallStep:
        name = node.function
        if name in functions.SINGLETONS:
            eager = len(args) <= 2
            return CallStep(node.id, args, functions.SINGLETONS[name], cost, eager=eager)
        declared = self.env.functions[name]
        if overload:
            single = next(one for one in declared if one.id == overload)
            function = self.guarded(single)
            eager = len(args) <= 2 and single.id != "string_format"
            return CallStep(
                node.id, args, function, cost, eager=eager, strict=name != "@not_strictly_false"
            )
        return CallStep(node.id, args, self.dispatched(name, declared), cost, eager=False)

    def guarded(self, overload: Overload) -> Callable[..., object]:
        """One overload, its arguments checked."""
        function = self.known.get(overload.id)
        if function is None:
            # Functions of authorization; nothing can reach a value that they take.
            return lambda *_values: no_overload(overload.name)
        if overload.name in functions.UNGUARDED or overload.name == "@not_strictly_false":
            return function
        kinds = overload.args

        def call(*values: object) -> object:
            for kind, value in zip(kinds, values, strict=False):
                if not functions.fits(kind, value):
                    return no_overload(overload.name)
            return function(*values)

        return call

    def dispatched(self, name: str, declared: list[Overload]) -> Callable[..., object]:
        """Several overloads: the first whose arguments fit."""
        table = [(one.args, self.known[one.id]) for one in declared if one.id in self.known]

        def call(*values: object) -> object:
            for kinds, function in table:
                if len(kinds) == len(values) and all(
                    functions.fits(kind, value) for kind, value in zip(kinds, values, strict=False)
                ):
                    return function(*values)
            return no_overload(name)

        return call

    def choice(self, node: int, args: list[Step]) -> Step:
        branches: list[Attribute] = []
        for arg in args[1:]:
            if isinstance(arg, AttributeStep):
                branches.append(arg.attribute)
            else:
                branches.append(self.start(arg.id, operand=arg))
        return AttributeStep(Choice(node, args[0], branches[0], branches[1]))

    # -- comprehensions

    def fold(self, node: Fold) -> Step:
        step = FoldStep(node.id, pairs=bool(node.iter2))
        step.init = self.plan(node.init)
        step.over = self.plan(node.range)
        self.scopes.append((node.accu, node.iter1, node.iter2 or "#none"))
        step.condition = self.plan(node.condition)
        step.step = self.plan(node.step)
        self.scopes[-1] = (node.accu, "#none", "#none")
        step.result = self.plan(node.result)
        self.scopes.pop()
        return step


def _constants(*steps: Step) -> list[object]:
    return [step.value for step in steps if isinstance(step, ConstStep)]


def _unequal(left: object, right: object) -> bool:
    return operations.equal(left, right) is not True


def _named(value: object) -> object:
    """With a constant pattern a type passes as the text of its name."""
    return value.name if isinstance(value, TypeValue) else value


def _guarded_matches(text: object, pattern: object) -> object:
    return strings.matches(_named(text), pattern)


def _guarded_find(text: object, pattern: object) -> object:
    text = _named(text)
    if not isinstance(text, str) or not isinstance(pattern, str):
        return no_overload("find")
    return strings.find(text, pattern)


def _guarded_find_all(text: object, pattern: object, limit: Any = -1) -> object:
    text = _named(text)
    if not isinstance(text, str) or not isinstance(pattern, str) or limit.__class__ is not int:
        return no_overload("findAll")
    return strings.find_all(text, pattern, limit)


def _membership(node: int, arg: Step, values: Any) -> Step | None:
    if not values:
        return ConstStep(node, False)
    if any(value.__class__ not in _PRIMITIVES for value in values):
        return None
    keys: set[object] = set()
    for value in values:
        keys.add(key_of(value))
        keys.update(key_of(other) for other in _same_numbers(value))
    return MembershipStep(node, arg, frozenset(keys))


def _same_numbers(value: object) -> list[object]:
    """Equal numbers of other types."""
    if isinstance(value, bool):
        return []
    if isinstance(value, Uint):
        return [float(value), *([int(value)] if value < 2**63 else [])]
    if isinstance(value, int):
        return [float(value), *([Uint(value)] if value >= 0 else [])]
    if isinstance(value, float):
        whole = lossless_int(value)
        found: list[object] = [] if whole is None else [whole]
        if value.is_integer() and 0 <= value < 2**64:
            found.append(Uint(int(value)))
        return found
    return []
