"""The static estimate: how much a checked expression may cost at worst, by sizes of the input."""

from __future__ import annotations

from typing import Final

from pytest_dra.cel import callestimates
from pytest_dra.cel.callestimates import Argument
from pytest_dra.cel.callestimates import Estimate
from pytest_dra.cel.checker import Checked
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.known import Entries
from pytest_dra.cel.known import Knowledge
from pytest_dra.cel.known import Local
from pytest_dra.cel.known import NodeArgument
from pytest_dra.cel.known import Path
from pytest_dra.cel.macros import OLD_ACCUMULATOR
from pytest_dra.cel.sizes import LIST_COST
from pytest_dra.cel.sizes import MAP_COST
from pytest_dra.cel.sizes import MAX
from pytest_dra.cel.sizes import MESSAGE_COST
from pytest_dra.cel.sizes import NOTHING
from pytest_dra.cel.sizes import ONE
from pytest_dra.cel.sizes import STRING_FACTOR
from pytest_dra.cel.sizes import UNKNOWN
from pytest_dra.cel.sizes import Range
from pytest_dra.cel.sizes import fixed
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

_BY_SMALLER: Final = frozenset({
    f"{word}_{kind}" for word in ("less", "greater", "less_equals", "greater_equals")
    for kind in ("string", "bytes")
} | {"equals", "not_equals"})  # fmt: skip
_CHECKED_MATCHES: Final = 37
"""Release from which the global ``matches`` is charged like the member."""


def estimate(checked: Checked, env: Environment) -> Range:
    """Least and greatest cost of evaluating the expression."""
    return _Coster(checked, env).cost(checked.root)


class _Coster(Knowledge):
    def cost(self, node: Node) -> Range:
        if isinstance(node, Const):
            return NOTHING
        if isinstance(node, Ident):
            local = self.local(node)
            self.paths[node.id] = local.path if local else Path([node.name.removeprefix(".")], 1)
            return ONE
        if isinstance(node, Select):
            return self.select(node)
        if isinstance(node, Call):
            return self.call(node)
        if isinstance(node, ListNode):
            return self.list_literal(node)
        if isinstance(node, MapNode):
            return self.map_literal(node)
        if isinstance(node, Message):
            total = fixed(MESSAGE_COST)
            for field in node.fields:
                total = total.plus(self.cost(field.value))
            return total
        return self.bind(node) if self.is_bind(node) else self.fold(node)

    def select(self, node: Select) -> Range:
        if node.id in self.checked.names:
            self.paths[node.id] = Path([self.checked.names[node.id]], 1)
            return ONE
        total = self.cost(node.operand)
        if node.test:
            return total
        if self.checked.kinds[node.operand.id].kind in ("map", "struct", "param"):
            total = total.plus(ONE)
        self.paths[node.id] = self.path(node.operand).to(node.field)
        return total

    def list_literal(self, node: ListNode) -> Range:
        total = fixed(LIST_COST)
        sizes = Range(MAX if node.elements else 0, 0)
        for element in node.elements:
            total = total.plus(self.cost(element))
            sizes = sizes.union(self.size_or_unknown(element))
        self.entries[node.id] = Entries("list", ONE, sizes)
        return total

    def map_literal(self, node: MapNode) -> Range:
        total = fixed(MAP_COST)
        keys = values = Range(MAX if node.entries else 0, 0)
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys = keys.union(self.size_or_unknown(entry.key))
            values = values.union(self.size_or_unknown(entry.value))
        self.entries[node.id] = Entries("map", keys, values)
        return total

    def call(self, node: Call) -> Range:
        if node.function == "dyn":
            total = self.cost(node.args[0])
            self.copy_sizes(node, node.args[0])
            return total.plus(ONE)
        costs = [self.cost(arg) for arg in node.args]
        args: list[Argument] = []
        for arg in node.args:
            args.append(NodeArgument(self, arg))
        overloads = self.checked.overloads.get(node.id, [])
        if not overloads:
            return NOTHING
        total, target = NOTHING, None
        if node.target is not None:
            total = self.cost(node.target)
            target = NodeArgument(self, node.target)
        whole = Range(MAX, 0)
        size: Range | None = None
        for overload in overloads:
            cost, made = self.overload_cost(node, overload, target, args, costs)
            whole = whole.union(cost)
            if made is not None:
                size = made if size is None else size.union(made)
            size = self.indexed(node, overload, size)
            if size is None:
                size = self.size(node)
        if size is not None:
            self.sizes[node.id] = size
        return total.plus(whole)

    def indexed(self, node: Call, overload: str, size: Range | None) -> Range | None:
        """Size of an element or value, and its path."""
        if overload not in ("index_list", "index_map"):
            return size
        entries = self.entry_sizes(node.args[0])
        step = "@items" if overload == "index_list" else "@values"
        self.paths[node.id] = self.path(node.args[0]).to(step)
        return None if entries is None else entries.value

    def overload_cost(
        self, node: Call, overload: str, target: Argument | None, args: list[Argument],
        costs: list[Range],
    ) -> Estimate:  # fmt: skip
        made = self.own_estimate(node.function, overload, target, args)
        if made is None:
            made = self.special(node, overload, target, args, costs)
            if made is not None and overload in ("logical_and", "logical_or", "conditional"):
                return made
        cost, size = made or (ONE, None)
        for arg in costs:
            cost = cost.plus(arg)
        return cost, size

    def own_estimate(
        self, function: str, overload: str, target: Argument | None, args: list[Argument]
    ) -> Estimate | None:
        estimator = callestimates.BY_OVERLOAD.get(overload)
        if estimator is not None:
            return estimator(target, args)
        if function == "includes" and self.env.minor < _CHECKED_MATCHES:
            return callestimates.INCLUDES_136(target, args)
        estimator = callestimates.BY_FUNCTION.get(function)
        return None if estimator is None else estimator(target, args)

    def special(
        self, node: Call, overload: str, target: Argument | None, args: list[Argument],
        costs: list[Range],
    ) -> Estimate | None:  # fmt: skip
        """Calls of the standard library whose cost is not 1."""
        sizes = [arg.computed() or UNKNOWN for arg in args]
        own = (target.computed() or UNKNOWN) if target is not None else UNKNOWN
        if overload in ("logical_and", "logical_or"):
            return Range(costs[0].low, costs[0].plus(costs[1]).high), None
        if overload == "conditional":
            return self.conditional(node, sizes, costs)
        if overload in _BY_SMALLER:
            smaller = min(sizes[0].high, sizes[1].high)
            return Range(1 if smaller else 0, smaller).scaled(STRING_FACTOR), None
        if overload in ("add_string", "add_bytes", "add_list"):
            return self.addition(node, overload, sizes)
        if overload == "string_format" and target is not None:
            return own.scaled(STRING_FACTOR), None
        if overload == "string_to_bytes":
            most = sizes[0].high * 4 % (MAX + 1)
            return sizes[0].scaled(STRING_FACTOR), Range(sizes[0].low, most)
        if overload == "bytes_to_string":
            return sizes[0].scaled(STRING_FACTOR), Range(sizes[0].low // 4, sizes[0].high)
        if overload == "strings_quote":
            most = (sizes[0].high * 2 + 2) % (MAX + 1)
            return sizes[0].scaled(STRING_FACTOR), Range(sizes[0].low + 2, most)
        if overload in ("starts_with_string", "ends_with_string"):
            return sizes[0].scaled(STRING_FACTOR), None
        if overload == "in_list":
            return sizes[1].scaled(1), None
        if overload == "contains_string":
            return own.scaled(STRING_FACTOR).times(sizes[0].scaled(STRING_FACTOR)), None
        return self.pattern(overload, target, args)

    def pattern(
        self, overload: str, target: Argument | None, args: list[Argument]
    ) -> Estimate | None:
        if overload == "matches_string" and target is not None:
            return callestimates.matches(_Computed(target), _Computed(args[0])), None
        if overload == "matches" and self.env.minor >= _CHECKED_MATCHES:
            return callestimates.matches(_Computed(args[0]), _Computed(args[1])), None
        return None

    def conditional(self, node: Call, sizes: list[Range], costs: list[Range]) -> Estimate:
        yes = self.entry_sizes(node.args[1])
        joined = None if yes is None else yes.union(self.entry_sizes(node.args[2]))
        if joined is not None:
            self.entries[node.id] = joined
        return costs[0].plus(costs[1].union(costs[2])), sizes[1].union(sizes[2])

    def addition(self, node: Call, overload: str, sizes: list[Range]) -> Estimate:
        left = self.entry_sizes(node.args[0])
        joined = None if left is None else left.union(self.entry_sizes(node.args[1]))
        if joined is not None:
            self.entries[node.id] = joined
        size = sizes[0].plus(sizes[1])
        return (ONE if overload == "add_list" else size.scaled(STRING_FACTOR)), size

    # -- comprehensions

    def is_bind(self, node: Fold) -> bool:
        over, condition = node.range, node.condition
        return (
            isinstance(over, ListNode)
            and not over.elements
            and isinstance(condition, Const)
            and condition.value is False
            and node.accu != OLD_ACCUMULATOR
        )

    def copy_sizes(self, node: Node, source: Node) -> None:
        size, entries = self.size(source), self.entry_sizes(source)
        if size is not None:
            self.sizes[node.id] = size
        if entries is not None:
            self.entries[node.id] = entries

    def push_accumulator(self, node: Fold) -> None:
        init = node.init
        local = Local(self.path(init), self.size(init), self.entry_sizes(init))
        self.push(node.accu, local)

    def bind(self, node: Fold) -> Range:
        total = self.cost(node.range).plus(self.cost(node.init))
        self.push_accumulator(node)
        total = total.plus(self.cost(node.result))
        self.locals[node.accu].pop()
        self.copy_sizes(node, node.result)
        return total

    def push_variables(self, node: Fold) -> None:
        entries = self.entry_sizes(node.range)
        path = self.path(node.range)
        container = entries.container if entries else self.checked.kinds[node.range.id].kind
        listed = container == "list"
        key = None if entries is None else entries.key
        value = None if entries is None else entries.value
        keys, items = ("@indices", "@items") if listed else ("@keys", "@values")
        if node.iter2:
            self.push(node.iter1, Local(path.to(keys), key, None))
            self.push(node.iter2, Local(path.to(items), value, None))
        elif listed:
            self.push(node.iter1, Local(path.to(items), value, None))
        else:
            self.push(node.iter1, Local(path.to(keys), key, None))

    def fold(self, node: Fold) -> Range:
        total = self.cost(node.range).plus(self.cost(node.init))
        self.push_accumulator(node)
        self.push_variables(node)
        loop = self.cost(node.condition)
        step = self.cost(node.step)
        self.locals[node.iter1].pop()
        if node.iter2:
            self.locals[node.iter2].pop()
        total = total.plus(self.cost(node.result))
        self.locals[node.accu].pop()
        count = self.size_or_unknown(node.range)
        total = total.plus(count.times(step.plus(loop)))
        if isinstance(node.init, Const):
            size = self.size(node.init)
            if size is not None:
                self.sizes[node.id] = size
        elif isinstance(node.init, (ListNode, MapNode)):
            self.sizes[node.id] = count
            entries = self.entry_sizes(node.step)
            if entries is not None:
                self.entries[node.id] = entries
        return total


class _Computed:
    """An argument by what the expression tells of it alone."""

    def __init__(self, argument: Argument) -> None:
        self.node = argument.node
        self.kind: CelType = argument.kind
        self._size = argument.computed()

    def size(self) -> Range:
        return UNKNOWN if self._size is None else self._size

    def element_size(self) -> Range:
        return UNKNOWN

    def computed(self) -> Range | None:
        return self._size
