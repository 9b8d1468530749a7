"""The session: what it starts, when, and how it ends."""

from __future__ import annotations

import pytest

from pytest_dra import cases
from pytest_dra.bench import Bench
from pytest_dra.bench.warnings import Warnings
from pytest_dra.cases import Declared
from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch import Keeper
from pytest_dra.options import resolve
from pytest_dra.outcome import BenchError
from pytest_dra.outcome import Outcome
from pytest_dra.plan import Plan
from pytest_dra.planning import plan_of
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.session import Session
from pytest_dra.sessions import Sessions
from pytest_dra.site import Site
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation


@pytest.fixture
def plan() -> Plan:
    settings = resolve(flag={"dra_driver": "fake"}.get, ini=lambda _: None, environ={})
    return plan_of(settings)[1]


def test_nothing_is_started_before_it_is_needed(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: Keeper) -> None:
        raise AssertionError("started")

    monkeypatch.setattr(Keeper, "start", start)
    with Session(plan) as session:
        assert (session.plugin(), session.driver_name()) == (None, "fake.dra.example")


def test_closing_twice_is_fine_and_leaves_nothing(plan: Plan) -> None:
    session = Session(plan)
    cluster = session.cluster
    assert isinstance(cluster, EmbeddedCluster)
    directory = cluster.admin_kubeconfig().parent
    assert directory.exists()
    session.close()
    session.close()
    assert not directory.exists()


def test_one_part_that_does_not_close_keeps_no_other_from_closing(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []
    stop, close = EmbeddedCluster.stop, Keeper.close

    def close_bench(_: Bench) -> None:
        raise RuntimeError("bench")

    def stop_cluster(cluster: EmbeddedCluster) -> None:
        stop(cluster)
        closed.append("cluster")
        raise RuntimeError("cluster")

    def close_keeper(keeper: Keeper) -> None:
        close(keeper)
        closed.append("keeper")

    monkeypatch.setattr(Bench, "close", close_bench)
    monkeypatch.setattr(EmbeddedCluster, "stop", stop_cluster)
    monkeypatch.setattr(Keeper, "close", close_keeper)
    session = Session(plan)
    assert session.bench
    with pytest.raises(RuntimeError):
        session.close()
    assert closed == ["cluster", "keeper"]


def test_a_cluster_that_does_not_start_is_told_once_and_then_cheaply(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = []

    def start(_: EmbeddedCluster) -> None:
        starts.append(1)
        raise ClusterError("no loopback interface")

    monkeypatch.setattr(EmbeddedCluster, "start", start)
    with Session(plan) as session:
        first = session.judge("REG-001")
        second = session.judge("SLICE-001")
        with pytest.raises(BenchError, match="see the first case: ClusterError: no loopback"):
            _ = session.cluster
    assert isinstance(first.error, ClusterError)
    assert isinstance(second.error, BenchError)
    assert first.result.state is second.result.state is State.ERRORED
    assert len(starts) == 1


def endings(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> list[str]:
    """Let every case end with ``error``; the ids whose bodies were run are added to the list."""
    ran: list[str] = []

    def declared(id: str, *, live: bool) -> Declared:
        found = cases.declared(id, live=live)

        def body(_: object) -> None:
            ran.append(id)
            if error is not None:
                raise error

        return Declared(found.case, body, found.settles)

    class NoBench:
        warnings = Warnings()

        def case(self, *_: object, **__: object) -> NoBench:
            return self

        def __enter__(self) -> NoBench:
            return self

        def __exit__(self, *_: object) -> None:
            return None

    monkeypatch.setattr("pytest_dra.session.declared", declared)
    monkeypatch.setattr(Site, "bench", NoBench())
    monkeypatch.setattr(Session, "_shows", lambda session, case: False)
    return ran


def test_each_case_is_judged_once_and_its_prerequisites_first(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(plan) as session:
        ran = endings(monkeypatch, None)
        session.judge("PREP-006")
        session.judge("PREP-006")
        assert ran[-1] == "PREP-006"
        assert ran[-2] == "PREP-023"
        assert len(ran) == len(set(ran))
        for id in implemented():
            session.judge(id)
        assert len(ran) == len(set(ran))
        assert {id for id in implemented() if id.startswith("PREP-00")} <= set(ran)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (Violation("x", got=1, want="2"), State.FAILED),
        (RuntimeError("broken"), State.ERRORED),
        (AssertionError("a bare assertion of a case is ours"), State.ERRORED),
        (UnsupportedEnvironment("too few devices", way_out="more"), State.UNSUPPORTED_ENVIRONMENT),
    ],
)
def test_only_a_violation_is_the_drivers(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, error: Exception, state: State
) -> None:
    with Session(plan) as session:
        endings(monkeypatch, error)
        assert session.judge("REG-001").result.state is state


def test_an_interruption_is_no_result(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session(plan) as session:

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Site, "_run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.judge("REG-001")
        assert not session.outcomes


def test_what_was_judged_before_its_turn_is_known_but_for_what_may_not_count(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Beside:
        """A site on which two cases have passed in lanes, one of an undeclared feature."""

        @staticmethod
        def passed() -> list[Outcome]:
            return [
                Outcome(CaseResult(case=catalogue().case(id), state=State.PASSED))
                for id in ("CDI-001", "TAINT-003", "PREP-023")
            ]

    sessions = Sessions(plan)
    with sessions.main as session:
        endings(monkeypatch, None)
        session.judge("PREP-023")
        monkeypatch.setattr(session, "live_site", Beside)
        known = {each.case.id for each in sessions.known()}
        monkeypatch.setattr(session, "live_site", None)
    assert session.outcomes.keys() < known
    assert known - session.outcomes.keys() == {"CDI-001"}
