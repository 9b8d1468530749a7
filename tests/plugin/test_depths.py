"""Wire and cluster depth in one run: what is asked for, and what each result counts for."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.lanes import needs_of
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import resolve
from pytest_dra.refusals import at_wire
from pytest_dra.refusals import depths_of
from pytest_dra.report.consistency import contradictions
from pytest_dra.report.document import document
from pytest_dra.report.results import AT_CLUSTER
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import CLUSTER_CORE
from pytest_dra.report.verdict import NODE_CORE
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import summarise
from pytest_dra.spec import Depth
from tests.report.running import judged
from tests.report.running import result
from tests.report.running import run_of

BOTH = (Depth.WIRE, Depth.CLUSTER)
CASE, CLUSTER_CASE = "REG-001", "LIFE-001"


def settings(**flags: str) -> Settings:
    return resolve(flag=flags.get, ini=lambda _: None, environ={})


@pytest.mark.parametrize(
    ("depth", "cluster", "depths"),
    [
        ("", "embedded", ("wire",)),
        ("", "kind", ("cluster",)),
        ("cluster", "kubeconfig:x", ("cluster",)),
        ("cluster, wire", "kind", ("wire", "cluster")),
        ("wire", "apiserver", ("wire",)),
    ],
)
def test_the_depths_of_a_run(depth: str, cluster: str, depths: tuple[str, ...]) -> None:
    assert depths_of(settings(dra_depth=depth, dra_cluster=cluster)) == depths


@pytest.mark.parametrize(
    ("depth", "cluster", "said"),
    [
        ("deep", "kind", "want wire, cluster or wire,cluster"),
        ("wire,cluster", "embedded", "on which cluster"),
        ("wire", "kind", "ask for both: --dra-depth=wire,cluster"),
    ],
)
def test_a_depth_that_cannot_be_is_told_with_the_way_out(
    depth: str, cluster: str, said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        depths_of(settings(dra_depth=depth, dra_cluster=cluster))


def test_the_part_at_wire_depth_has_an_embedded_server_and_the_profiles_process() -> None:
    found = at_wire(
        settings(dra_cluster="kind", dra_driver="installed", dra_allocator="kube-scheduler")
    )
    assert found["dra_cluster"] == "embedded"
    assert not found["dra_driver"]
    assert not found["dra_allocator"]


def both(wire: State, cluster: State) -> RunResult:
    run = run_of(
        results=(
            result(CASE, wire),
            result(CASE, cluster, parameter=AT_CLUSTER),
            result(CLUSTER_CASE),
        )
    )
    return dataclasses.replace(run, depths=BOTH)


@pytest.mark.parametrize(
    ("wire", "cluster", "node_core", "cluster_core"),
    [
        (State.PASSED, State.PASSED, Verdict.CONFORMANT, Verdict.CONFORMANT),
        (State.PASSED, State.FAILED, Verdict.CONFORMANT, Verdict.NON_CONFORMANT),
        (State.FAILED, State.PASSED, Verdict.NON_CONFORMANT, Verdict.CONFORMANT),
        (State.PASSED, State.NOT_RUN, Verdict.CONFORMANT, Verdict.PARTIAL),
    ],
)
def test_each_verdict_counts_what_was_seen_at_its_depth_and_the_worse_one_is_the_runs(
    wire: State, cluster: State, node_core: Verdict, cluster_core: Verdict
) -> None:
    run = both(wire, cluster)
    summary = summarise(run)
    assert judged(summary, NODE_CORE).verdict is node_core
    assert judged(summary, CLUSTER_CORE).verdict is cluster_core
    worse = {node_core, cluster_core} - {Verdict.CONFORMANT} or {Verdict.CONFORMANT}
    assert {summary.overall.verdict} == worse
    data = document(run, summary)
    assert data["environment"]["depths"] == ["wire", "cluster"]
    assert list(contradictions(data)) == []


def test_cases_of_wire_depth_on_a_cluster_make_nobody_conformant_at_wire_depth() -> None:
    run = run_of({CASE: State.PASSED, CLUSTER_CASE: State.PASSED}, depth=Depth.CLUSTER)
    summary = summarise(run)
    assert judged(summary, NODE_CORE).verdict is Verdict.INCONCLUSIVE
    assert summary.overall.verdict is Verdict.CONFORMANT


def test_on_a_cluster_a_working_device_stands_for_what_is_needed_at_wire_depth() -> None:
    case = catalogue().case("PREP-006")
    assert needs_of(case, {"LIFE-001"}, live=True) == ("SHARE-001",)
    assert needs_of(case, {*case.needs}, live=False) == case.needs
    assert needs_of(case, set(), live=False) == ()
    assert needs_of(catalogue().case("SHARE-001"), {"LIFE-001"}, live=True) == ("LIFE-001",)
