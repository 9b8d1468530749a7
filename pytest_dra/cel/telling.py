"""Problems and errors in words: where, what, and what to write instead."""

from __future__ import annotations

from typing import Final

from pytest_dra.cel import hints
from pytest_dra.cel import types
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.errors import Problem
from pytest_dra.cel.operations import type_name
from pytest_dra.cel.parts import Parts
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.program import Program
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import children
from pytest_dra.cel.tree import walk
from pytest_dra.cel.values import CelMap

_WIDTH: Final = 100
"""Characters of a line of an expression that are shown around the position."""

_NAMES_MAX: Final = 8
"""Names of attributes that are listed."""

_PROBLEMS_MAX: Final = 10
"""Problems of one expression that are shown."""

_OPAQUE: Final = {str(kind): kind for kind in (types.QUANTITY, types.SEMVER)}


def place(expression: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1, in code points; (0, 0) for the whole text."""
    if offset < 0:
        return 0, 0
    before = expression[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def excerpt(expression: str, offset: int) -> str:
    """The line of an offset and a caret below it."""
    line, column = place(expression, offset)
    if not line:
        return ""
    text = expression.split("\n")[line - 1]
    start = max(0, min(column - 1 - _WIDTH // 2, len(text) - _WIDTH))
    shown = text[start : start + _WIDTH]
    # A tab has no fixed width; nothing else that moves a terminal's cursor is let through.
    shown = "".join(char if char.isprintable() else " " for char in shown)
    return f"  {shown}\n  {' ' * (column - 1 - start)}^"


def problem_text(expression: str, problem: Problem) -> str:
    """One problem of the compiler."""
    line, column = place(expression, problem.offset)
    head = f"{line}:{column}: " if line else ""
    lines = [f"{head}{problem.message} [{problem.kind}]", excerpt(expression, problem.offset)]
    if problem.hint:
        lines.append(f"  hint: {problem.hint}")
    return "\n".join(line for line in lines if line)


def compile_error_text(error: CompileError) -> str:
    """All problems of an expression."""
    shown = error.problems[:_PROBLEMS_MAX]
    lines = [problem_text(error.expression, problem) for problem in shown]
    if len(error.problems) > len(shown):
        lines.append(f"and {len(error.problems) - len(shown)} more problems")
    return "\n".join(lines)


def error_text(
    program: Program,
    error: CelError,
    device: Prepared | None = None,
    parts: Parts | None = None,
) -> str:
    """An error of an evaluation, with the sub-expression that raised it where that is known.

    With the ``device`` on which it arose it says what was there; ``parts`` of the program save
    work where there are many.
    """
    node = next((one for one in walk(program.checked.root) if one.id == error.node), None)
    message, hint = error.message, ""
    if error.kind == "no-such-key":
        message, hint = hints.missing_key(error.message), ""
    if error.kind == "no-such-overload" and isinstance(node, Call):
        message = f"no such overload of {hints.shown_operator(node.function)}"
    if node is not None and device is not None and device.fault is None:
        parts = parts or Parts(program)
        values = [parts.value(part, device) for part in children(node)]
        seen, hint = _seen(error, node, values)
        message += seen
    lines = [f"{message} [{error.kind}]"]
    if error.node and node is not None and node.offset >= 0:
        line, column = place(program.expression, node.offset)
        lines[0] = f"{line}:{column}: {lines[0]}"
        lines.append(excerpt(program.expression, node.offset))
    if hint:
        lines.append(f"  hint: {hint}")
    return "\n".join(lines)


def _seen(error: CelError, node: Node, values: list[object]) -> tuple[str, str]:
    """What the sub-expression had before it, and what to write instead."""
    if any(isinstance(value, CelError) for value in values):
        return "", ""
    if error.kind == "no-such-key" and values and isinstance(values[0], CelMap):
        names = sorted(str(key) for key in values[0])
        shown = ", ".join(names[:_NAMES_MAX]) + (", ..." if len(names) > _NAMES_MAX else "")
        return f"; here is {shown or 'nothing'}", ""
    if error.kind == "no-such-overload" and isinstance(node, Call):
        kinds = [type_name(value) for value in values]
        known = [_OPAQUE.get(kind, types.DYN) for kind in kinds]
        return f" for ({', '.join(kinds)})", hints.no_overload(node.function, known)
    return "", ""
