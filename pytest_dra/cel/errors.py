"""What can go wrong with an expression, by class.

Classes are stable words (``no-such-key``, ``no-overload`` ...): match on them, never on texts.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One finding of the compiler.

    ``offset`` counts code points from 0; -1 means the expression as a whole. ``kind`` is the
    class, ``hint`` says what to write instead, "" where there is nothing to say.
    """

    kind: str
    message: str
    offset: int = -1
    hint: str = ""


class CelError:
    """An error as a value: operators absorb it or hand it on, as CEL asks.

    ``kind`` is the class, ``node`` the id of the sub-expression that raised it, 0 if unknown.
    """

    __slots__ = ("kind", "message", "node")

    def __init__(self, kind: str, message: str, node: int = 0) -> None:
        self.kind = kind
        self.message = message
        self.node = node

    def __repr__(self) -> str:
        return f"CelError({self.kind!r}, {self.message!r})"


class CompileError(ValueError):
    """The expression does not compile. ``problems`` is never empty and ordered by position."""

    def __init__(self, expression: str, problems: list[Problem]) -> None:
        super().__init__(problems[0].message)
        self.expression = expression
        self.problems = problems


class EvaluationError(ValueError):
    """The expression failed on this input; ``error`` says how."""

    def __init__(self, error: CelError) -> None:
        super().__init__(error.message)
        self.error = error

    @property
    def kind(self) -> str:
        """Class of the error."""
        return self.error.kind


class CostExceeded(Exception):
    """The run-time cost went over the limit; never absorbed by an operator."""


class WorkExceeded(CostExceeded):
    """The expression asks for more than this engine does, see :mod:`pytest_dra.cel.work`."""


class InternalFailure(Exception):
    """Where the Go implementation panics at run time; the evaluation as a whole is an error."""


def no_overload(function: str = "") -> CelError:
    """The arguments fit no overload of ``function``."""
    return CelError(
        "no-such-overload", f"no such overload: {function}" if function else "no such overload"
    )
