"""Values of the sub-expressions of a program, for those who ask why."""

from __future__ import annotations

from pytest_dra.cel import work
from pytest_dra.cel.checker import Checked
from pytest_dra.cel.environments import COST_MAX
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CostExceeded
from pytest_dra.cel.errors import InternalFailure
from pytest_dra.cel.planner import PlanError
from pytest_dra.cel.planner import plan
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.program import Program
from pytest_dra.cel.room import room
from pytest_dra.cel.run import Scope
from pytest_dra.cel.run import State
from pytest_dra.cel.steps import Step
from pytest_dra.cel.tree import Node


class Parts:
    """Evaluates sub-expressions of one program, for any number of devices."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._steps: dict[int, Step] = {}

    def value(self, node: Node, device: Prepared) -> object:
        """The value of a sub-expression; an error also if it needs a variable of a macro."""
        program = self.program
        try:
            with room(program.levels):
                step = self._steps.get(node.id)
                if step is None:
                    checked = program.checked
                    part = Checked(node, checked.kinds, checked.names, checked.overloads)
                    step = self._steps[node.id] = plan(part, program.env)
                work.begin()
                return step.run(Scope(State(COST_MAX), device.value))
        except (PlanError, CostExceeded, InternalFailure) as error:
            return CelError("internal", str(error))
