"""Which part of a selector decided its result for a device."""

from __future__ import annotations

from typing import Final

from pytest_dra.cel.checker import Checked
from pytest_dra.cel.environment import COST_MAX
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
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import walk

_LOGIC: Final = frozenset({"_&&_", "_||_"})


def span(expression: str, node: Node) -> str:
    """The text of a sub-expression, from its first to past its last known position."""
    offsets = [part.offset for part in walk(node)]
    start, end = min(offsets), max(offsets)
    depth = 0
    position = end
    while position < len(expression):
        char = expression[position]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and expression.startswith(("&&", "||", "?", ":", ","), position):
            break
        position += 1
    return " ".join(expression[start:position].split())


def deciding(program: Program, device: Prepared) -> str:
    """The condition that made the result what it is, the whole expression if all took part."""
    node = program.checked.root
    with room(program.levels):
        while isinstance(node, Call) and node.function in _LOGIC:
            stop = node.function == "_||_"
            results = [(part, _value(program, part, device)) for part in node.args]
            decided = [part for part, value in results if value is stop]
            if not decided:
                decided = [part for part, value in results if value.__class__ is not bool]
            if not decided:
                break
            node = decided[0]
    return span(program.expression, node)


def _value(program: Program, node: Node, device: Prepared) -> object:
    checked = program.checked
    part = Checked(node, checked.kinds, checked.names, checked.overloads)
    try:
        return plan(part, program.env).run(Scope(State(COST_MAX), device.value))
    except (PlanError, CostExceeded, InternalFailure) as error:
        return CelError("internal", str(error))
