"""Problems and errors in words: where, what, and what to write instead."""

from __future__ import annotations

from typing import Final

from pytest_dra.cel import hints
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.errors import Problem
from pytest_dra.cel.program import Program
from pytest_dra.cel.tree import walk

_WIDTH: Final = 100
"""Characters of a line of an expression that are shown around the position."""


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
    start = max(0, column - 1 - _WIDTH // 2)
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
    return "\n".join(problem_text(error.expression, problem) for problem in error.problems)


def error_text(program: Program, error: CelError) -> str:
    """An error of an evaluation, with the sub-expression that raised it where that is known."""
    message = hints.missing_key(error.message) if error.kind == "no-such-key" else error.message
    lines = [f"{message} [{error.kind}]"]
    offset = next((node.offset for node in walk(program.checked.root) if node.id == error.node), -1)
    if error.node and offset >= 0:
        line, column = place(program.expression, offset)
        lines[0] = f"{line}:{column}: {lines[0]}"
        lines.append(excerpt(program.expression, offset))
    return "\n".join(lines)
