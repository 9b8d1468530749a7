"""The sessions of a run: one for each depth at which it judges.

Each judges a case, and what it needs, by itself: a driver that works at wire depth may not do so
on a cluster. A result on a cluster of a case that is judged at wire depth, too, says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Sequence
from contextlib import ExitStack

from pytest_dra.bench import Bench
from pytest_dra.cases import Body
from pytest_dra.cases import is_live
from pytest_dra.outcome import Outcome
from pytest_dra.plan import Plan
from pytest_dra.report.results import AT_CLUSTER
from pytest_dra.report.results import CaseResult
from pytest_dra.session import Session
from pytest_dra.shares import shares_of
from pytest_dra.spec import Depth
from pytest_dra.spec import Json

Bodies = Sequence[tuple[str, object]]
"""Cases by id and body."""

Shares = dict[tuple[str, bool], int]
"""Number of the share of a case, by its id and whether it acts on a whole cluster."""


class Sessions:
    """See the module. Nothing is started before the first case or fixture needs it.

    Attributes:
        main: of the greatest depth; fixtures of users' own tests use it.
        wire: at wire depth beside a whole cluster; None if there is none.
    """

    def __init__(self, plan: Plan) -> None:
        self.main = Session(plan)
        self.wire = Session(plan.wire) if plan.wire is not None else None

    @property
    def every(self) -> tuple[Session, ...]:
        """All of them, in the order in which they judge."""
        return (self.main,) if self.wire is None else (self.wire, self.main)

    @property
    def available(self) -> frozenset[str]:
        """Ids of the cases that any of them can judge."""
        return frozenset().union(*(each.available for each in self.every))

    @property
    def depths(self) -> tuple[Depth, ...]:
        """At which they judge, in their order."""
        return tuple(Depth.CLUSTER if each.plan.live else Depth.WIRE for each in self.every)

    def of(self, function: object) -> Session:
        """The session that judges the case with this body."""
        return self.wire if self.wire is not None and not is_live(function) else self.main

    def has(self, function: object) -> bool:
        """True for the body of a case that acts where one of them judges."""
        return is_live(function) == (self.of(function).plan.live is not None)

    def parameter(self, id: str, function: object) -> str:
        """What tells the result of this body from that of the case's other one; mostly empty."""
        both = self.wire is not None and id in self.wire.available
        return AT_CLUSTER if both and is_live(function) else ""

    def judge(self, id: str, function: object) -> Outcome:
        """The outcome of a case with this body. Raises as :meth:`Session.judge`."""
        return self._named(self.of(function).judge(id), function)

    def known(self) -> list[CaseResult]:
        """The results that are there, also of cases whose turn has not come: a run may end before.

        Cases are judged before their turn where another one needs them, or beside it. Without
        those that may turn out not to count.
        """
        found = []
        for each in self.every:
            beside = each.live_site.passed() if each.live_site is not None else []
            own = {
                outcome.result.case.id: outcome
                for outcome in beside
                if each.undeclared(outcome.result.case) is None
            }
            for id, outcome in {**own, **each.outcomes}.items():
                found.append(self._named(outcome, each.declared(id).body).result)
        return found

    def _named(self, outcome: Outcome, function: object) -> Outcome:
        parameter = self.parameter(outcome.result.case.id, function)
        result = dataclasses.replace(outcome.result, parameter=parameter)
        return dataclasses.replace(outcome, result=result)

    def expect(self, bodies: Bodies) -> None:
        """Say which cases are to be judged, by id and body; see :meth:`Session.expect`."""
        for each in self.every:
            each.expect(id for id, body in bodies if self.of(body) is each)

    def expect_apart(self, bodies: Bodies) -> None:
        """Say which of them this process is to judge; see :meth:`Session.expect_apart`."""
        for each in self.every:
            each.expect_apart(id for id, body in bodies if self.of(body) is each)

    def expect_share(self, own: Iterable[tuple[str, bool]]) -> None:
        """The same for a share of them: each by its id, and whether it acts on a cluster."""
        found = list(own)
        for each in self.every:
            live = each.plan.live is not None
            ids = [id for id, on_cluster in found if on_cluster is live]
            if ids:
                each.expect_apart(ids)

    def bodies(self) -> list[tuple[str, Body]]:
        """All cases that can be judged, each with its body."""
        every = self.every
        return [(id, each.declared(id).body) for each in every for id in sorted(each.available)]

    def shares(self, bodies: Bodies, count: int) -> Shares:
        """Number of the share of each case.

        What is judged on the whole cluster is one: it is one cluster, and it judges in lanes.
        """
        found: Shares = {}
        for each in self.every:
            ids = [id for id, body in bodies if self.of(body) is each]
            live = each.plan.live is not None
            for id in ids if live else ():
                found[id, True] = count
            numbers = {} if live else shares_of(ids, count, declared=each.declared)
            found.update({(id, False): number for id, number in numbers.items()})
        return found

    def benches(self) -> list[Bench]:
        """The benches whose driver has been started."""
        return [bench for each in self.every for bench in each.benches()]

    def observed(self) -> Iterable[Json]:
        """What each has shown of the driver beside its cases."""
        return [found for each in self.every if (found := each.observed())]

    def close(self) -> None:
        """End everything that was started, in bounded time; calling it twice is fine."""
        with ExitStack() as stack:
            for each in self.every:
                stack.callback(each.close)
