"""The steps of a compiled expression. Each gives a value, errors included, and charges for it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any
from typing import Protocol

from pytest_dra.cel.attributes import Attribute
from pytest_dra.cel.attributes import Chain
from pytest_dra.cel.attributes import Choice
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CostExceeded
from pytest_dra.cel.errors import InternalFailure
from pytest_dra.cel.run import Frame
from pytest_dra.cel.run import Scope
from pytest_dra.cel.run import observe
from pytest_dra.cel.runcost import Cost
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import MutableList
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import key_of


class Step(Protocol):
    """One step."""

    @property
    def id(self) -> int:
        """The node under which its value is noted."""

    def run(self, scope: Scope) -> object:
        """The value in a scope."""


def _placed(error: Any, node: int) -> CelError:
    """The error, as one of a node if it has none yet."""
    found: CelError = error if error.node else CelError(error.kind, error.message, node)
    return found


class ConstStep:
    """A value known beforehand."""

    __slots__ = ("id", "value")

    def __init__(self, node: int, value: object) -> None:
        self.id = node
        self.value = value

    def run(self, scope: Scope) -> object:
        state, node = scope.state, self.id
        ids = state.ids
        state.places[node].append(len(ids))
        ids.append(node)
        state.values.append(self.value)
        return self.value


class AttributeStep:
    """A variable with its chain of fields; with ``test`` the presence of its end."""

    __slots__ = ("attribute", "cost", "test")

    def __init__(self, attribute: Attribute, *, test: bool = False) -> None:
        self.attribute = attribute
        self.test = test
        self.cost = (0 if isinstance(attribute, Choice) else 1) - (1 if test else 0)

    @property
    def id(self) -> int:
        return self.attribute.id

    def run(self, scope: Scope) -> object:
        attribute = self.attribute
        if attribute.__class__ is Chain and not attribute.qualifiers and not attribute.plain:
            return self._variable(attribute, scope)
        value = attribute.resolve(scope)
        if self.test and isinstance(value, Optional):
            value = value.has_value
        elif isinstance(value, CelError) and not value.node:
            value = CelError(value.kind, value.message, attribute.id)
        state = scope.state
        if isinstance(attribute, Choice):
            state.drop(attribute.no.id)
            state.drop(attribute.yes.id)
            state.drop(attribute.condition.id)
        else:
            state.drop(attribute.id)
        observe(state, attribute.id, value, self.cost)
        return value

    def _variable(self, chain: Chain, scope: Scope) -> object:
        """The same for a variable alone, by a shorter way."""
        value = chain.base(scope) if chain.base is not None else chain.operand.run(scope)
        node = chain.base_id
        if value.__class__ is CelError:
            value = _placed(value, node)
        elif value is scope.device:
            value = scope.device.again()
        state = scope.state
        places, ids = state.places[node], state.ids
        if places:
            state.cut(places[-1])
        places.append(len(ids))
        ids.append(node)
        state.values.append(value)
        state.charge(self.cost)
        return value


class LogicStep:
    """``&&`` (``stop`` False) or ``||`` (``stop`` True): errors count only if nothing decides."""

    __slots__ = ("id", "stop", "terms")

    def __init__(self, node: int, terms: list[Step], *, stop: bool) -> None:
        self.id = node
        self.terms = terms
        self.stop = stop

    def run(self, scope: Scope) -> object:
        result = self._decide(scope)
        state = scope.state
        for term in self.terms:
            state.drop(term.id)
        observe(state, self.id, result, 0)
        return result

    def _decide(self, scope: Scope) -> object:
        error: CelError | None = None
        for term in self.terms:
            value = term.run(scope)
            if value is self.stop:
                return value
            if value.__class__ is not bool and error is None:
                if isinstance(value, CelError):
                    error = value
                else:
                    error = CelError("no-such-overload", "no such overload", self.id)
        return error if error is not None else not self.stop


class CallStep:
    """A function with strict arguments.

    ``eager`` ones evaluate all arguments even after an error, others stop at the first.
    """

    __slots__ = ("args", "cost", "eager", "function", "id", "nodes", "strict")

    def __init__(
        self, node: int, args: list[Step], function: Callable[..., Any], cost: Cost, *,
        eager: bool, strict: bool = True,
    ) -> None:  # fmt: skip
        self.id = node
        self.args = args
        self.nodes: tuple[int, ...] | None = None
        self.function = function
        self.cost = cost
        self.eager = eager
        self.strict = strict

    def run(self, scope: Scope) -> object:
        result = self._call(scope)
        state = scope.state
        nodes = self.nodes
        if nodes is None:
            # Chains get their last id when the plan is complete.
            nodes = self.nodes = tuple(arg.id for arg in self.args)
        ids, values, places = state.ids, state.values, state.places
        if len(nodes) == 2 and len(ids) > 1 and ids[-1] == nodes[1] and ids[-2] == nodes[0]:
            # Mostly both lie on top: the rest would come to the same.
            places[nodes[1]].pop()
            places[nodes[0]].pop()
            ids.pop()
            ids[-1] = self.id
            last = values.pop()
            taken = [values[-1], last]
            values[-1] = result
            places[self.id].append(len(ids) - 1)
            state.charge(self.cost(taken, result))
            return result
        if len(nodes) == 1 and ids and ids[-1] == nodes[0]:
            places[nodes[0]].pop()
            ids[-1] = self.id
            taken = [values[-1]]
            values[-1] = result
            places[self.id].append(len(ids) - 1)
            state.charge(self.cost(taken, result))
            return result
        found = state.take(nodes)
        observe(state, self.id, result, 0 if found is None else self.cost(found, result))
        return result

    def _call(self, scope: Scope) -> object:
        values = []
        error: CelError | None = None
        strict = self.strict
        for arg in self.args:
            value = arg.run(scope)
            if value.__class__ is CelError and strict:
                if not self.eager:
                    return value
                error = error or value
            values.append(value)
        if error is not None:
            return error
        try:
            result: object = self.function(*values)
        except (CostExceeded, InternalFailure):
            raise
        except (TypeError, AttributeError, ValueError, OverflowError) as failure:
            raise InternalFailure(str(failure)) from failure
        if result.__class__ is CelError:
            return _placed(result, self.id)
        return result


class MembershipStep:
    """``in`` with a list of constants: no charge beyond the element."""

    __slots__ = ("arg", "id", "keys")

    def __init__(self, node: int, arg: Step, keys: frozenset[object]) -> None:
        self.id = node
        self.arg = arg
        self.keys = keys

    def run(self, scope: Scope) -> object:
        value = self.arg.run(scope)
        result: object = value
        if not isinstance(value, CelError):
            try:
                key = value if value.__class__ is str else key_of(value)
            except TypeError as failure:
                raise InternalFailure(str(failure)) from failure
            result = key in self.keys
        observe(scope.state, self.id, result, 0)
        return result


class OrStep:
    """``or`` and ``orValue`` of optionals: the argument is evaluated only if needed.

    Up to Kubernetes 1.36 any value passed as an optional that is there (not ``checks``).
    """

    __slots__ = ("alternative", "checks", "id", "target", "unwraps")

    def __init__(
        self, node: int, target: Step, alternative: Step, *, unwraps: bool, checks: bool
    ) -> None:
        self.id = node
        self.checks = checks
        self.target = target
        self.alternative = alternative
        self.unwraps = unwraps

    def run(self, scope: Scope) -> object:
        value = self.target.run(scope)
        if isinstance(value, Optional):
            if not value.has_value:
                value = self.alternative.run(scope)
            elif self.unwraps:
                value = value.value
        elif self.checks and not isinstance(value, CelError):
            value = CelError("no-such-overload", "no such overload", self.id)
        observe(scope.state, self.id, value, 0)
        return value


class FoldStep:
    """A comprehension."""

    __slots__ = ("condition", "id", "init", "over", "pairs", "result", "step")

    def __init__(self, node: int, *, pairs: bool) -> None:
        self.id = node
        self.pairs = pairs
        self.over: Step
        self.init: Step
        self.condition: Step
        self.step: Step
        self.result: Step

    def run(self, scope: Scope) -> object:
        value = self._fold(scope)
        scope.state.drop(self.over.id)
        observe(scope.state, self.id, value, 0)
        return value

    def _fold(self, scope: Scope) -> object:
        frame = Frame(scope, self)
        over = self.over.run(scope)
        if isinstance(over, CelError):
            return over
        if not isinstance(over, (list, CelMap)):
            return CelError("not-iterable", "want a list or map to iterate", self.id)
        condition, step = self.condition.run, self.step.run
        for first, second in self._entries(over):
            frame.first, frame.second = first, second
            if condition(frame) is False:
                break
            frame.accu = step(frame)
            frame.ready = True
        value = self.result.run(frame)
        return list(value) if value.__class__ is MutableList else value

    def _entries(self, over: list[object] | CelMap) -> Iterator[tuple[object, object]]:
        if isinstance(over, CelMap):
            return iter(list(over.items()))
        if self.pairs:
            return enumerate(list(over))
        return ((item, None) for item in list(over))
