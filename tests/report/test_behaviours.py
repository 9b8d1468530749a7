"""The map of the upstream proposal's seven behaviours."""

from __future__ import annotations

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.report.behaviours import BEHAVIOURS
from pytest_dra.report.behaviours import line_of
from pytest_dra.report.behaviours import worst_of
from pytest_dra.report.document import document
from pytest_dra.report.html import render
from pytest_dra.report.markdown import render as markdown
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.spec import Depth
from tests.report.running import run_of


def test_each_behaviour_has_a_case_that_a_cluster_is_needed_for() -> None:
    for each in BEHAVIOURS.values():
        depths = [catalogue().case(id).depth for id in each.cases]
        assert Depth.CLUSTER in depths


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (["passed", "other-depth"], "passed"),
        (["other-depth", "other-depth"], "other-depth"),
        (["passed", "failed"], "failed"),
        (["failed", "errored"], "errored"),
        (["passed", "not-run"], "not-run"),
    ],
)
def test_the_worst_case_of_the_run_decides_about_a_behaviour(
    states: list[str], verdict: str
) -> None:
    assert worst_of(states) == verdict


def test_a_run_on_a_cluster_says_in_its_reports_which_behaviours_it_has_seen() -> None:
    run = run_of({"LIFE-001": State.PASSED, "SHARE-001": State.FAILED}, depth=Depth.CLUSTER)
    assert line_of(run) == (
        "enhancements#5970: 1 passed, 2 passed, 3 passed, 4 passed, 5 failed, 6 passed, 7 failed"
    )
    data = document(run, summarise(run))
    assert "| 7 | a second pod gets the device again | failed | UNP-005 other-depth, " in markdown(
        data
    )
    assert "<td>a second pod gets the device again</td><td>failed</td>" in render(data)
