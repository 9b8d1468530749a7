"""Devices that are attached before their pod is bound, and the conditions that tell of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra.bench.binding import LISTS
from pytest_dra.checks.binding import TRUE
from pytest_dra.checks.binding import conditions_at
from pytest_dra.checks.claim_status import key_of
from pytest_dra.live import choosing
from pytest_dra.live.choosing import Choice
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench

ALLOCATED_S: Final = 30.0
"""Longest wait for the allocation itself, which the driver has no part in."""

EVERY_S: Final = 0.1
"""Between two looks at a claim: what is told of a failure is taken back by the scheduler, which
looks every five seconds."""

WAY_OUT: Final = "name their class in driver.deviceClasses"


def conditional(bench: LiveBench) -> Choice:
    """Devices with binding conditions. Raises UnsupportedEnvironment."""
    found = choosing.choices(
        bench,
        lambda one: bool(one.device.get(LISTS[0])),
        what="have bindingConditions",
        way_out=WAY_OUT,
    )
    return found[0]


def wait_for(
    bench: LiveBench, claim: str, told: Callable[[Json, Json], bool]
) -> tuple[Json, Json | None]:
    """The claim, and the driver's result in it, once the driver has told what is waited for.

    Args:
        bench: with ``budgets.binding``.
        claim: its name.
        told: is asked with the claim and the result.

    Returns:
        Both as they were seen last with an allocation; None in the place of the result: the
        scheduler has given it no device of the driver.
    """
    last: tuple[Json, Json | None] = ({}, None)

    def look() -> bool:
        nonlocal last
        now = bench.claims.state(claim) or {}
        found = _result(bench, now)
        if found is None:
            return False
        last = now, found
        return told(now, found)

    def allocated() -> bool:
        look()
        return last[1] is not None

    if poll(allocated, Deadline.after(ALLOCATED_S), every_s=EVERY_S):
        poll(look, Deadline.after(bench.profile.budgets.binding), every_s=EVERY_S)
    return last


def _result(bench: LiveBench, claim: Json) -> Json | None:
    devices = ((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}
    own = [each for each in devices.get("results") or () if each["driver"] == bench.driver.name]
    return own[0] if own else None


def are_met(claim: Json, result: Json) -> bool:
    """True once every binding condition of the result is True."""
    found = conditions_at(claim, key_of(result))
    return all(found.get(kind) == TRUE for kind in result.get(LISTS[0]) or ())


def has_failed(claim: Json, result: Json) -> bool:
    """True once one of its failure conditions is True."""
    found = conditions_at(claim, key_of(result))
    return any(found.get(kind) == TRUE for kind in result.get(LISTS[1]) or ())
