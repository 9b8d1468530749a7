"""State of one evaluation: cost so far, observed values, and scopes of variables."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from typing import Final

from pytest_dra.cel.errors import CostExceeded
from pytest_dra.cel.values import CelMap

_COUNTER: Final = 2**64


class State:
    """Cost and the stack of observed values.

    The reference finds the arguments of a call on this stack, and what it does not find it does
    not charge; so the stack is part of the cost.
    """

    __slots__ = ("cost", "ids", "limit", "places", "values")

    def __init__(self, limit: int) -> None:
        self.cost = 0
        self.limit = limit
        self.ids: list[int] = []
        self.values: list[object] = []
        # Where each node is on the stack, so that nothing has to be searched.
        self.places: defaultdict[int, list[int]] = defaultdict(list)

    def push(self, node: int, value: object) -> None:
        """Note the value of a node."""
        ids = self.ids
        self.places[node].append(len(ids))
        ids.append(node)
        self.values.append(value)

    def charge(self, cost: int) -> None:
        """Add to the cost; the limit is held at each step."""
        if cost:
            self.cost += cost
            if self.cost > self.limit:
                self.hold()

    def hold(self) -> None:
        """Hold the limit; the reference counts in 64 bits and begins again behind them."""
        self.cost %= _COUNTER
        if self.cost > self.limit:
            raise CostExceeded

    def drop(self, node: int) -> None:
        """Forget the last value of a node and all that came after it."""
        places = self.places[node]
        if places:
            self.cut(places[-1])

    def cut(self, length: int) -> None:
        """Forget all values from ``length`` on."""
        ids, places = self.ids, self.places
        for node in ids[length:]:
            places[node].pop()
        del ids[length:]
        del self.values[length:]

    def take(self, nodes: tuple[int, ...]) -> list[object] | None:
        """Values of the arguments ``nodes``, which are forgotten; None if one is missing."""
        found: list[object] = []
        for node in reversed(nodes):
            places = self.places[node]
            if not places:
                return None
            index = places[-1]
            found.append(self.values[index])
            self.cut(index)
        found.reverse()
        return found


def observe(state: State, node: int, value: object, cost: int) -> None:
    """Note the value of a node and charge for it."""
    ids = state.ids
    state.places[node].append(len(ids))
    ids.append(node)
    state.values.append(value)
    if cost:
        state.cost += cost
        if state.cost > state.limit:
            state.hold()


class Scope:
    """The outermost scope, with the input."""

    __slots__ = ("device", "state")

    def __init__(self, state: State, device: CelMap) -> None:
        self.state = state
        self.device = device


class Frame(Scope):
    """A scope of a comprehension: its accumulator and one or two variables."""

    __slots__ = ("accu", "first", "fold", "parent", "ready", "second")

    def __init__(self, parent: Scope, fold: Any) -> None:
        super().__init__(parent.state, parent.device)
        self.parent = parent
        self.fold = fold
        self.ready = False
        self.accu: object = None
        self.first: object = None
        self.second: object = None
