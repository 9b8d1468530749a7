"""Constraints of Kubernetes up to 1.36, which do not come back to where they were.

When the search takes a device back, they forget more or less than what it had added, so that a
later device may be taken that contradicts an earlier one, or be refused for one that is gone.
"""

from __future__ import annotations

from typing import Any

from pytest_dra.allocator.constraints import Constraint
from pytest_dra.allocator.constraints import Value
from pytest_dra.allocator.constraints import clashes
from pytest_dra.allocator.constraints import equal


class Forgetful(Constraint):
    """The state is the number of devices with values by request, or with one set of values."""

    __slots__ = ()
    restores = False

    def add(self, state: Any, value: Value, request: str) -> Any:
        """State with one more device; None if the constraint forbids it."""
        count: int = state[0] if state else 0
        known: Any = state[1] if state else {}
        if self.distinct:
            return self._add_distinct(count, known, value, request)
        if not count:
            return None if value is None else (1, value)
        if not self.lists:
            return (count + 1, known) if equal(value, known) else None
        if value is None or value[0] != known[0]:
            return None
        common = value[1] & known[1]
        return (count + 1, (value[0], common)) if common else None

    def _add_distinct(self, count: int, known: dict[str, Value], value: Value, name: str) -> Any:
        if count:
            if self.lists and value is None:
                return None
            if any(
                clashes(value, one, lists=self.lists)
                for one in known.values()
                if not (self.lists and one is None)
            ):
                return None
        return count + 1, {**known, name: value}

    def removed(self, state: Any, request: str) -> Any:
        """State after a device of a request is taken back."""
        count, known = state
        if self.distinct:
            return count - 1, {name: one for name, one in known.items() if name != request}
        return count - 1, known
