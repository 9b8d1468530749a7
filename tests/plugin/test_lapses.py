"""A driver that did something once and does it no more: which case says so, and what is blocked."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_dra.cases import Declared
from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.report.results import failed
from pytest_dra.session import Session
from pytest_dra.site import Site
from pytest_dra.spec import Blocked
from pytest_dra.spec import Violation

WHERE = "Unprepare of a claim"


def _session(monkeypatch: pytest.MonkeyPatch, states: Mapping[str, State | Blocked]) -> Session:
    """A session whose cases end as is said here, and pass else."""

    def run(
        _: Site, what: Declared, serial: int, *, works: bool
    ) -> tuple[CaseResult, BaseException | None]:
        del serial, works
        state = states.get(what.case.id, State.PASSED)
        if isinstance(state, Blocked):
            reason = f"blocked by {state.by}"
            return CaseResult(case=what.case, state=State.NOT_RUN, reason=reason), state
        if state is State.FAILED:
            violation = Violation(WHERE, got="nothing", want="an entry")
            return failed(what.case, violation), violation
        return CaseResult(case=what.case, state=state), None

    monkeypatch.setattr(Site, "_run", run)
    monkeypatch.setattr(Session, "_shows", lambda session, case: False)
    settings = resolve(flag={"dra_driver": "fake"}.get, ini=lambda _: None, environ={})
    return Session(plan_of(settings)[1])


def _lapse(by: str) -> Blocked:
    return Blocked(by, Violation(WHERE, got="no answer in 45 s", want="an answer"))


def test_what_a_passed_case_would_block_fails_the_first_case_and_that_blocks_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = {"UNP-004": _lapse("UNP-001"), "UNP-006": _lapse("UNP-001")}
    with _session(monkeypatch, states) as session:
        assert session.judge("UNP-001").result.state is State.PASSED
        first = session.judge("UNP-004")
        assert first.result.state is State.FAILED
        assert first.result.finding is not None
        assert first.result.finding.where == WHERE
        assert isinstance(first.error, Violation)
        second = session.judge("UNP-006").result
        assert (second.state, second.reason) == (State.NOT_RUN, "blocked by UNP-004")


def test_what_a_failed_case_blocks_stays_blocked_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    states: dict[str, State | Blocked] = {"UNP-001": State.FAILED, "REG-010": _lapse("UNP-001")}
    with _session(monkeypatch, states) as session:
        blocked = session.judge("REG-010")
        assert blocked.result.state is State.NOT_RUN
        assert blocked.result.reason == "blocked by UNP-001"
        assert blocked.error is None


def test_without_a_finding_a_case_is_not_failed_by_what_another_has_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with _session(monkeypatch, {"UNP-004": Blocked("UNP-001")}) as session:
        assert session.judge("UNP-004").result.reason == "blocked by UNP-001"


def test_what_needs_a_blocked_case_is_blocked_by_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    states: dict[str, State | Blocked] = {
        "HLTH-002": State.FAILED,
        "PREP-023": Blocked("HLTH-002"),
    }
    with _session(monkeypatch, states) as session:
        assert session.judge("PREP-023").result.reason == "blocked by HLTH-002"
        assert session.judge("PREP-006").result.reason == "blocked by HLTH-002"


def test_a_case_is_pointless_as_soon_as_one_that_it_needs_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with _session(monkeypatch, {"REG-006": State.FAILED}) as session:
        assert not session._is_pointless("PREP-016")
        session.judge("REG-006")
        assert session._is_pointless("PREP-016")
        assert not session._is_pointless("REG-013")
