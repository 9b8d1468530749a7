"""Selectors over many devices: generated code where it covers the expression, memory elsewhere.

An expression that sees only certain values of a device is evaluated once for each combination
of them; devices that do not differ in these have the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_dra.cel import fastpath
from pytest_dra.cel.environments import COST_MAX
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.environments import environment
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.footprint import footprint
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.program import Outcome
from pytest_dra.cel.program import Program
from pytest_dra.cel.program import compile_selector
from pytest_dra.cel.program import selected

MEMORY_MAX: Final = 20_000
"""Combinations of values that are remembered per selector."""

_ABSENT: Final = object()


class Selector:
    """A compiled device selector. It may be used from several threads.

    Raises:
        CompileError: the expression does not compile; see its ``problems``.
    """

    def __init__(self, expression: str, env: Environment | None = None) -> None:
        self.program: Program = compile_selector(expression, env or environment())
        self._fast = fastpath.generate(self.program.checked)
        self._seen = footprint(self.program.checked)
        self._memory: dict[object, bool | CelError] = {}

    @property
    def expression(self) -> str:
        """The expression as it was given."""
        return self.program.expression

    def evaluate(self, device: Prepared, cost_limit: int = COST_MAX) -> Outcome:
        """Result and cost for one device, step by step."""
        if device.fault is not None:
            return Outcome(value=None, error=device.fault, cost=0)
        return selected(self.program.evaluate(device.value, cost_limit))

    def matches(self, devices: Sequence[Prepared]) -> list[bool | CelError]:
        """For each device whether it is selected, or the error that it raises."""
        if self._fast is None:
            return [self._slow(device) for device in devices]
        if any(device.fault is not None for device in devices):
            good = [device for device in devices if device.fault is None]
            results = iter(self._fast(good, self._slow))
            return [device.fault or next(results) for device in devices]
        return self._fast(list(devices), self._slow)

    def _slow(self, device: Prepared) -> bool | CelError:
        if device.fault is not None:
            return device.fault
        if self._seen is None:
            return self._exact(device)
        get = device.leaves.get
        values = [get(key, _ABSENT) for key in self._seen]
        # Types keep apart what Python takes for equal; lists are no keys.
        combination = tuple(
            (value.__class__, tuple((item.__class__, item) for item in value))
            if isinstance(value, list)
            else (value.__class__, value)
            for value in values
        )
        known = self._memory.get(combination)
        if known is None:
            known = self._exact(device)
            if len(self._memory) >= MEMORY_MAX:
                self._memory.clear()
            self._memory[combination] = known
        return known

    def _exact(self, device: Prepared) -> bool | CelError:
        outcome = selected(self.program.evaluate(device.value))
        return outcome.value is True if outcome.error is None else outcome.error
