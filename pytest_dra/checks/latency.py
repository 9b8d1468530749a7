"""How long calls took, over a whole run."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dra.spec import Violation
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import Entry


def calls_must_be_short(calls: Sequence[Entry[DraCall]], *, within_s: float, budget: str) -> None:
    """The longest of some calls has kept to its budget.

    Args:
        calls: what is judged, without calls that the suite itself has held up.
        within_s: the budget.
        budget: its name below ``budgets`` in a profile.
    """
    if not calls:
        return
    longest = max(calls, key=lambda entry: entry.event.duration_s)
    call = longest.event
    if call.duration_s > within_s:
        names = ", ".join(f"{claim['namespace']}/{claim['name']}" for claim in call.claims)
        raise Violation(
            f"{call.method} of {names}, the longest of {len(calls)} calls",
            got=f"{call.code} after {call.duration_s:.1f} s",
            want=f"an answer within {within_s:g} s (budgets.{budget}); a kubelet waits 45 s",
            proof=(longest.serial,),
        )
