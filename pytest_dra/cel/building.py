"""Steps that build lists, maps and messages."""

from __future__ import annotations

from pytest_dra.cel import messages
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import InternalFailure
from pytest_dra.cel.run import Scope
from pytest_dra.cel.run import observe
from pytest_dra.cel.sizes import LIST_COST
from pytest_dra.cel.sizes import MAP_COST
from pytest_dra.cel.sizes import MESSAGE_COST
from pytest_dra.cel.steps import Step
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import key_of


class ListStep:
    """A list literal with computed elements."""

    __slots__ = ("elements", "id", "optionals")

    def __init__(self, node: int, elements: list[Step], optionals: frozenset[int]) -> None:
        self.id = node
        self.elements = elements
        self.optionals = optionals

    def run(self, scope: Scope) -> object:
        result = self._build(scope)
        scope.state.take(tuple(element.id for element in self.elements))
        observe(scope.state, self.id, result, LIST_COST)
        return result

    def _build(self, scope: Scope) -> object:
        made: list[object] = []
        for index, element in enumerate(self.elements):
            value = element.run(scope)
            if isinstance(value, CelError):
                return value
            if index in self.optionals:
                if not isinstance(value, Optional):
                    return CelError("other", "an optional element takes an optional", self.id)
                if not value.has_value:
                    continue
                value = value.value
            made.append(value)
        return made


class MapStep:
    """A map literal with computed entries."""

    __slots__ = ("entries", "id")

    def __init__(self, node: int, entries: list[tuple[Step, Step, bool]]) -> None:
        self.id = node
        self.entries = entries

    def run(self, scope: Scope) -> object:
        result = self._build(scope)
        parts = [part.id for key, value, _ in self.entries for part in (key, value)]
        scope.state.take(tuple(parts))
        observe(scope.state, self.id, result, MAP_COST)
        return result

    def _build(self, scope: Scope) -> object:
        made = CelMap()
        for key_step, value_step, optional in self.entries:
            key = key_step.run(scope)
            if isinstance(key, CelError):
                return key
            value = value_step.run(scope)
            if isinstance(value, CelError):
                return value
            if optional:
                if not isinstance(value, Optional):
                    return CelError("other", "an optional entry takes an optional", self.id)
                if not value.has_value:
                    made.entries.pop(key_of(key), None)
                    continue
                value = value.value
            try:
                made.put(key, value)
            except TypeError as failure:
                raise InternalFailure(str(failure)) from failure
        return made


class MessageStep:
    """A message literal."""

    __slots__ = ("fields", "id", "name")

    def __init__(self, node: int, name: str, fields: list[tuple[str, Step, bool]]) -> None:
        self.id = node
        self.name = name
        self.fields = fields

    def run(self, scope: Scope) -> object:
        result = self._build(scope)
        scope.state.take(tuple(step.id for _, step, _ in self.fields))
        observe(scope.state, self.id, result, MESSAGE_COST)
        return result

    def _build(self, scope: Scope) -> object:
        made: dict[str, object] = {}
        for name, step, optional in self.fields:
            value = step.run(scope)
            if isinstance(value, CelError):
                return value
            if optional:
                if not isinstance(value, Optional):
                    return CelError("other", "an optional field takes an optional", self.id)
                if not value.has_value:
                    made.pop(name, None)
                    continue
                value = value.value
            made[name] = value
        return messages.build(self.name, made)
