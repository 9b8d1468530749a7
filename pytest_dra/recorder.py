"""Results on their way to the report: collected from pytest's reports, judged at the end."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable
from typing import Any

from pytest_dra.catalogue import catalogue
from pytest_dra.report.figures import NONE
from pytest_dra.report.results import ENDED_BEFORE
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.report.results import not_run
from pytest_dra.spec import Case
from pytest_dra.spec import Json

RESULT = "dra_result"
"""Attribute of a pytest report that carries a case's result; crosses xdist's channel as JSON."""

FACTS = "dra_facts"
"""Attribute with what is known of the driver when a case ends: name, registered versions."""

Name = tuple[str, str]
"""Id of a case, and the parameter of its result."""


class Recorder:
    """What has come in so far."""

    def __init__(self, implemented: Iterable[str]) -> None:
        self.implemented: dict[str, Case] = {id: catalogue().case(id) for id in implemented}
        self.started = datetime.datetime.now(datetime.timezone.utc)
        self.figures = NONE
        self._began = time.monotonic()
        self._results: dict[Name, CaseResult] = {}
        self._facts: Json = {}
        self._expected: set[Name] = set()

    def expect(self, names: Iterable[Name]) -> None:
        """Cases that are to run."""
        self._expected.update(names)

    @property
    def expected(self) -> frozenset[Name]:
        """What :meth:`expect` was told."""
        return frozenset(self._expected)

    def add(self, report: Any) -> None:
        """Take the result from one of pytest's reports; those of other tests have none."""
        data = getattr(report, RESULT, None)
        if data is None:
            return
        result = CaseResult.from_dict(data, case_of=catalogue().case)
        name = (result.case.id, result.parameter)
        known = self._results.get(name)
        if known is None or result.state is State.ERRORED:
            self._results[name] = result
        self._facts.update(
            {key: value for key, value in getattr(report, FACTS, {}).items() if value}
        )

    @property
    def results(self) -> tuple[CaseResult, ...]:
        """Everything that was judged, in the order in which it came."""
        return tuple(self._results.values())

    def complete(self, known: Iterable[CaseResult] = ()) -> tuple[CaseResult, ...]:
        """The results, and what did not come to be judged before the run ended.

        Args:
            known: results of cases that were judged before their turn, should that not have come.
        """
        early = {(result.case.id, result.parameter): result for result in known}
        ended = [
            early.get((id, parameter))
            or not_run(self.implemented[id], ENDED_BEFORE, parameter=parameter)
            for id, parameter in sorted(self._expected - self._results.keys())
        ]
        return (*self.results, *ended)

    @property
    def facts(self) -> Json:
        """What became known of the driver."""
        return dict(self._facts)

    def duration_s(self) -> float:
        """Seconds since the run was prepared."""
        return time.monotonic() - self._began
