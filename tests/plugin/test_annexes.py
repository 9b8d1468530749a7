"""Cases that are judged on sites of their own, beside the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pytest_dra.annexes import Annexes
from pytest_dra.catalogue import catalogue
from pytest_dra.options import resolve
from pytest_dra.outcome import Outcome
from pytest_dra.plan import Plan
from pytest_dra.planning import plan_of
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.session import Session
from pytest_dra.site import Site
from tests.plugin.conftest import Runs

WAIT_S = 20.0

SLOW = "REG-001,REG-008,PREP-016,IDEM-003"
"""One case that comes first, and three that may be judged apart."""


def the_plan(benches: str = "1") -> Plan:
    given = {"dra_driver": "fake", "dra_benches": benches}
    return plan_of(resolve(flag=given.get, ini=lambda _: None, environ={}))[1]


def name_of(site: Site) -> str:
    return str(id(site))


class Stage:
    """Judges by waiting for the word; notes on which site each case was."""

    def __init__(self, count: int) -> None:
        self.may_end = threading.Event()
        self.sites: dict[str, Site] = {}
        self.unwanted: set[str] = set()
        self.annexes = Annexes(count, self.new, self.judge, fits=self.fits, wanted=self.wants)
        self.error: BaseException | None = None
        self.fit = True

    def new(self) -> Site:
        def no_keeper() -> None:
            raise AssertionError("nothing is started here")

        return Site(the_plan(), no_keeper)  # type: ignore[arg-type] # never called

    def fits(self, site: Site) -> bool:
        return self.fit

    def wants(self, id: str) -> bool:
        return id not in self.unwanted

    def outcome(self, id: str) -> Outcome:
        found = self.annexes.outcome(id)
        assert found is not None
        return found

    def judge(self, id: str, site: Site) -> Outcome:
        self.sites[id] = site
        if self.error is not None:
            raise self.error
        assert self.may_end.wait(WAIT_S)
        return Outcome(CaseResult(case=catalogue().case(id), state=State.PASSED), log=name_of(site))


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage(2)
    yield made
    made.may_end.set()
    made.annexes.close()


def test_cases_run_beside_each_other_and_their_outcomes_are_kept(stage: Stage) -> None:
    stage.annexes.begin(["REG-001", "REG-002", "REG-003"])
    stage.annexes.begin(["REG-001"])
    stage.may_end.set()
    found = {name: stage.outcome(name) for name in ("REG-003", "REG-001", "REG-002")}
    assert all(outcome.result.case.id == name for name, outcome in found.items())
    assert {name: outcome.log for name, outcome in found.items()} == {
        name: name_of(site) for name, site in stage.sites.items()
    }
    assert len({id(site) for site in stage.sites.values()}) in (1, 2)


def test_without_annexes_nothing_is_begun() -> None:
    stage = Stage(0)
    stage.annexes.begin(["REG-001"])
    assert not stage.annexes.has_begun("REG-001")
    stage.annexes.close()


def test_where_the_driver_cannot_run_beside_itself_nothing_is_judged_there(stage: Stage) -> None:
    stage.fit = False
    stage.may_end.set()
    stage.annexes.begin(["REG-001", "REG-002"])
    assert [stage.annexes.outcome(id) for id in ("REG-001", "REG-002")] == [None, None]
    assert stage.annexes.outcome("REG-003") is None
    assert not stage.sites


def test_what_nobody_will_ask_for_is_passed_over(stage: Stage) -> None:
    stage.unwanted.add("REG-001")
    stage.may_end.set()
    stage.annexes.begin(["REG-001", "REG-002"])
    assert stage.outcome("REG-002").result.state is State.PASSED
    assert stage.annexes.outcome("REG-001") is None
    assert set(stage.sites) == {"REG-002"}


def test_what_a_case_ends_with_reaches_who_asks_for_it(stage: Stage) -> None:
    stage.error = KeyError("broken")
    stage.annexes.begin(["REG-001"])
    with pytest.raises(KeyError, match="broken"):
        stage.annexes.outcome("REG-001")


def test_what_has_not_begun_at_the_end_never_does() -> None:
    stage = Stage(1)
    stage.annexes.begin(["REG-001", "REG-002"])
    closing = threading.Thread(target=stage.annexes.close)
    closing.start()
    stage.annexes._closing.wait(WAIT_S)
    stage.may_end.set()
    closing.join(WAIT_S)
    assert "REG-002" not in stage.sites


def test_a_case_comes_to_the_same_on_any_bench(runs: Runs) -> None:
    states = []
    for benches in ("1", "3"):
        done = runs.really(
            "--dra-driver=fake",
            f"--dra-case={SLOW}",
            f"--dra-benches={benches}",
            "--dra-logs=always",
        )
        assert done.ret == pytest.ExitCode.TESTS_FAILED, "partial"
        states.append({id: state for id, state in runs.states().items() if id in SLOW})
        kept = runs.pytester.path / "dra-results" / "cases" / "PREP-016" / "timeline.jsonl"
        assert "case PREP-016 ends" in kept.read_text("utf-8")
    assert states[0] == states[1]
    assert set(states[0].values()) == {"passed"}


def test_a_case_apart_is_not_waited_for_where_its_prerequisite_fails() -> None:
    with Session(the_plan("2")) as session:
        session.expect_apart(["REG-001", "REG-002", "IDEM-009"])
        assert session.judge("REG-001").result.state is State.PASSED
        assert session.bench.instance.plugin() is not None
        assert session.judge("REG-002").result.state is State.PASSED
        assert session._annexes.has_begun("IDEM-009")
        failing = CaseResult(case=catalogue().case("PREP-023"), state=State.ERRORED)
        session.outcomes["PREP-023"] = Outcome(failing)
        assert session.judge("IDEM-009").result.state is State.NOT_RUN


def test_the_number_of_benches_is_checked(runs: Runs) -> None:
    done = runs.really("--dra-driver=fake", "--dra-benches=0")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--dra-benches*'0'*"])
