"""Cases on a whole cluster that are judged at the same time: they mostly wait for pods.

A lane is a case and those that need it, one after the other. What passes here has passed. Whatever
else happens may come of the others: such a case is judged once more, alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait
from contextlib import suppress
from typing import Final

from pytest_dra.bench.runtime import COMING_UP
from pytest_dra.cases import Declared
from pytest_dra.outcome import Outcome
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.spec import Case

LANES_S: Final = 1800.0
"""Longest wait for all lanes: the budgets of their cases bound them by themselves."""

WORKING_AGAIN: Final = "SHARE-001"
"""The case on clusters that says that a device works for one pod and the next."""


BLOCKING: Final = frozenset({State.FAILED, State.ERRORED, State.NOT_RUN})
"""States of a prerequisite that make a case pointless; a waived one was accepted on purpose."""


def blocks(result: CaseResult) -> bool:
    """True if what needs this case is pointless."""
    unseen = result.case.id in COMING_UP and result.state is State.UNSUPPORTED_ENVIRONMENT
    return result.state in BLOCKING or unseen


def needs_of(case: Case, available: Collection[str], *, live: bool) -> tuple[str, ...]:
    """Ids of what has to pass before a case, as far as it is available.

    Of what is needed at wire depth alone, that a device works is left on a cluster (``live``).
    """
    found = tuple(id for id in case.needs if id in available)
    return found or ((WORKING_AGAIN,) if live and case.needs else ())


def undisturbing(every: Iterable[Declared], available: Collection[str]) -> list[Case]:
    """The cases that may be judged beside each other on a cluster, with what they need there."""
    found = [each.case for each in every if not each.disturbs and not each.settles]
    needs = {each.id: needs_of(each, available, live=True) for each in found}
    return [dataclasses.replace(each, needs=needs[each.id]) for each in found]


def lanes_of(cases: Sequence[Case], passed: frozenset[str]) -> list[list[str]]:
    """Chains of ids, each behind what it needs; a case that needs anything else is in none.

    Args:
        cases: that may be judged at the same time.
        passed: ids of what has passed already.
    """
    lanes: list[list[str]] = []
    left = list(cases)
    while left:
        ready = [case for case in left if _place(case, lanes, passed) is not None]
        if not ready:
            break
        for case in ready:
            place = _place(case, lanes, passed)
            if place is None:
                continue
            if place < len(lanes):
                lanes[place].append(case.id)
            else:
                lanes.append([case.id])
            left.remove(case)
    return sorted(lanes, key=len, reverse=True)


def _place(case: Case, lanes: Sequence[Sequence[str]], passed: frozenset[str]) -> int | None:
    """Number of the lane that the case goes to, a new one perhaps; None for no lane."""
    needed = set(case.needs) - passed
    holding = {number for number, lane in enumerate(lanes) for id in lane if id in needed}
    found = {id for lane in lanes for id in lane} & needed
    if found != needed or len(holding) > 1:
        return None
    return next(iter(holding), len(lanes))


class Lanes:
    """See the module.

    Args:
        judge: judges a case by its id, beside others.
    """

    def __init__(self, judge: Callable[[str], Outcome]) -> None:
        self._judge = judge
        self._pool: ThreadPoolExecutor | None = None
        self._found: dict[str, Future[Outcome | None]] = {}
        self._running: list[Future[None]] = []

    def begin(self, lanes: Sequence[Sequence[str]], *, width: int) -> None:
        """Begin to judge, ``width`` lanes at a time; returns at once. Once only."""
        if self._pool is not None or width < 1 or not lanes:
            return
        self._pool = ThreadPoolExecutor(width, thread_name_prefix="lane")
        for lane in lanes:
            self._found.update({id: Future() for id in lane})
            self._running.append(self._pool.submit(self._work, lane))

    def outcome(self, id: str) -> Outcome | None:
        """Wait for a case; None if it has to be judged alone, which nothing is beside then."""
        if id in self._found:
            found = self._found[id].result(LANES_S)
            if found is not None:
                return found
        wait(self._running, LANES_S)
        return None

    def passed(self) -> list[Outcome]:
        """What has passed by now, taken or not."""
        found = [each.result() for each in self._found.values() if each.done()]
        return [outcome for outcome in found if outcome is not None]

    def close(self) -> None:
        """Begin nothing more, and wait for what has begun."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _work(self, lane: Sequence[str]) -> None:
        going = True
        for id in lane:
            outcome = None
            if going:
                # What is raised here is raised again where the case is judged alone.
                with suppress(Exception):
                    outcome = self._judge(id)
            going = outcome is not None and outcome.result.state is State.PASSED
            self._found[id].set_result(outcome if going else None)
