"""The inventory of a driver that makes partitions when claims need them."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
from typing import Final

from pytest_dra.spec import Violation

HOOK: Final = "hooks.inventory"
"""What shows the partitions that there are."""


def lines_of(told: str) -> tuple[str, ...]:
    """The lines that the hook has printed, whatever their order."""
    return tuple(sorted(line.strip() for line in told.splitlines() if line.strip()))


def some_must_come(changed: Sequence[str], *, tried: Collection[str]) -> None:
    """One of the claims has changed the inventory.

    Args:
        changed: devices whose claim has.
        tried: devices whose claims were tried.
    """
    if not changed:
        raise Violation(
            "hooks.inventory while claims are prepared",
            got=f"the same as before, for claims of {', '.join(sorted(tried))}",
            want="one more partition for a claim of one of these devices (DynamicPartition)",
        )


def must_be_as_before(before: Sequence[str], after: Sequence[str], *, what: str) -> None:
    """A released claim has left nothing in the inventory, and taken nothing from it."""
    if list(before) != list(after):
        more = [line for line in after if line not in before]
        less = [line for line in before if line not in after]
        raise Violation(
            f"hooks.inventory after {what}",
            got=f"more: {more}, less: {less}",
            want="as before Prepare",
        )
