"""How long calls took, over a whole run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.spec import Violation
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import Entry

SLOW_S = 10.0
"""A call that takes longer is a warning, whatever the budget."""

PERCENTILE = 99
"""Of a hundred calls so many keep to the budget."""


def calls_must_be_short(calls: Sequence[Entry[DraCall]], *, within_s: float, budget: str) -> None:
    """The longest of some calls has kept to its budget.

    Args:
        calls: what is judged, without calls that the suite itself has held up.
        within_s: the budget.
        budget: its name below ``budgets`` in a profile.
    """
    longest = _longest(calls)
    if longest is not None and longest.event.duration_s > within_s:
        call = longest.event
        raise Violation(
            f"{call.method} of {_names(call)}, the longest of {len(calls)} calls",
            got=f"{call.code} after {call.duration_s:.1f} s",
            want=f"an answer within {within_s:g} s (budgets.{budget}); a kubelet waits 45 s",
            proof=(longest.serial,),
        )


def counts_must_be_short(
    counts: Mapping[float, int], *, method: str, within_s: float, budget: str
) -> None:
    """Of calls that somebody else has counted, none took longer than the budget.

    Args:
        counts: calls that took at most so many seconds, by these; the greatest is infinite.
        method: in words.
        within_s: the budget; rounded down to the next bound.
        budget: its name below ``budgets`` in a profile.
    """
    total = max(counts.values(), default=0)
    bound = max((each for each in counts if each <= within_s), default=0.0)
    late = total - counts.get(bound, 0)
    if late:
        raise Violation(
            f"{method} calls that the kubelet has counted",
            got=f"{late} of {total} took longer than {bound:.1f} s",
            want=f"an answer within {within_s:g} s (budgets.{budget}); a kubelet waits 45 s",
        )


def percentile_of_counts_must_be_within(
    counts: Mapping[float, int], *, method: str, within_s: float
) -> None:
    """Of a hundred calls that somebody else has counted, 99 were answered within the budget.

    A budget between two bounds is met by what lies below the upper one.
    """
    total = max(counts.values(), default=0)
    needed = -(-total * PERCENTILE // 100)
    bound = min(each for each in counts if each >= within_s or math.isinf(each))
    if counts[bound] < needed:
        raise Violation(
            f"{method}, {total} calls that the kubelet has counted",
            got=f"{total - counts[bound]} of them took longer than {bound:.2f} s",
            want=f"p99 within {within_s:g} s (budgets.latency_p99): pods wait for it",
        )


def percentile_must_be_within(calls: Sequence[Entry[DraCall]], *, within_s: float) -> None:
    """Of a hundred calls, 99 are answered within the budget.

    Args:
        calls: what is judged, without calls that the suite itself has held up.
        within_s: ``budgets.latency_p99``.
    """
    ranked = sorted(calls, key=lambda entry: entry.event.duration_s)
    median, high = (_ranked(ranked, hundredths) for hundredths in (50, 99))
    if high.event.duration_s > within_s:
        raise Violation(
            f"{high.event.method}, {len(calls)} calls",
            got=f"p99 {high.event.duration_s:.2f} s, p50 {median.event.duration_s:.2f} s",
            want=f"p99 within {within_s:g} s (budgets.latency_p99): pods wait for it",
            proof=(high.serial,),
        )


def _ranked(ranked: Sequence[Entry[DraCall]], hundredths: int) -> Entry[DraCall]:
    """The nearest rank of a percentile."""
    return ranked[-(-len(ranked) * hundredths // 100) - 1]


def slow(calls: Sequence[Entry[DraCall]], *, above_s: float) -> str:
    """A warning of the longest call where it took more than ``above_s``; empty if none did."""
    longest = _longest(calls)
    if longest is None or longest.event.duration_s <= above_s:
        return ""
    call = longest.event
    return (
        f"{call.method} of {_names(call)}, the longest of {len(calls)} calls, took "
        f"{call.duration_s:.0f} s; want less than {above_s:g} s: the pod waits meanwhile"
    )


def _longest(calls: Sequence[Entry[DraCall]]) -> Entry[DraCall] | None:
    return max(calls, key=lambda entry: entry.event.duration_s, default=None)


def _names(call: DraCall) -> str:
    return ", ".join(f"{claim['namespace']}/{claim['name']}" for claim in call.claims)
