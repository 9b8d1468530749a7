"""A bound on work that the cost does not see: ``a + a`` doubles a list at a cost of one.

The cost of an operation on lists and maps mostly hangs on the outermost length, so an expression
of a few hundred characters can ask for more than any machine has. Operations that look at each
element, or copy it, count them here.
"""

from __future__ import annotations

import threading
from typing import Final

from pytest_dra.cel.errors import WorkExceeded

STEPS_MAX: Final = 2_000_000
"""Elements that one evaluation looks at or copies: twice what the greatest cost pays for."""


TEXT_MAX: Final = 20_000_000
"""Characters of a text that is made: twice what the greatest cost pays for."""


class _Left(threading.local):
    """Steps that are left, for each thread."""

    steps = STEPS_MAX


_left: Final = _Left()


def begin() -> None:
    """Begin an evaluation."""
    _left.steps = STEPS_MAX


def spend(steps: int) -> None:
    """Count steps.

    Raises:
        WorkExceeded: there are none left.
    """
    _left.steps -= steps
    if _left.steps < 0:
        raise WorkExceeded


def bound_text(length: int) -> None:
    """Before a text of a length is made.

    Raises:
        WorkExceeded: it is too long.
    """
    if length > TEXT_MAX:
        raise WorkExceeded
