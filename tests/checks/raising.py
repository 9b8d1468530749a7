"""What a check says: nothing, or where, what it got and what it wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from pytest_dra.spec import Violation

Judgement = Callable[[], None]
"""A check with its data, ready to be called."""


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """The parts of a violation; they stand in reports, so each test states all of them."""

    where: str
    got: object
    want: str
    proof: tuple[int, ...] = ()


def said(judgement: Judgement) -> Said | None:
    """The violation that a judgement raises, None if it raises none."""
    try:
        judgement()
    except Violation as violation:
        return Said(violation.where, violation.got, violation.want, violation.proof)
    return None
