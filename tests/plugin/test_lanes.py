"""Cases beside each other: in chains of what they need, and once more alone where one fails."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.lanes import Lanes
from pytest_dra.lanes import lanes_of
from pytest_dra.outcome import Outcome
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.spec import Case

PASSED = frozenset({"X-000"})


def case(id: str, *needs: str) -> Case:
    return dataclasses.replace(catalogue().case("LIFE-001"), id=id, needs=needs)


def outcome(id: str, state: State = State.PASSED) -> Outcome:
    return Outcome(CaseResult(case=case(id), state=state, reason="because"))


@pytest.mark.parametrize(
    ("cases", "lanes"),
    [
        ([case("A-1", "X-000"), case("B-1")], [["A-1"], ["B-1"]]),
        (
            [case("A-3", "A-2"), case("A-2", "A-1"), case("A-1", "X-000"), case("B-1")],
            [["A-1", "A-2", "A-3"], ["B-1"]],
        ),
        ([case("A-2", "A-1"), case("B-1")], [["B-1"]]),
        ([case("A-1"), case("B-1"), case("C-1", "A-1", "B-1")], [["A-1"], ["B-1"]]),
    ],
)
def test_a_lane_is_a_chain_of_needs(cases: Iterable[Case], lanes: list[list[str]]) -> None:
    assert lanes_of(list(cases), PASSED) == lanes


def test_what_passes_is_taken_and_lanes_go_on_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=20)

    def judge(id: str) -> Outcome:
        together.wait()
        return outcome(id)

    lanes = Lanes(judge)
    lanes.begin([["A-1"], ["B-1"]], width=2)
    for id in ("B-1", "A-1"):
        found = lanes.outcome(id)
        assert found is not None
        assert found.result.case.id == id
    assert lanes.outcome("C-1") is None
    lanes.close()


def test_what_does_not_pass_and_all_behind_it_is_to_be_judged_alone() -> None:
    asked = []

    def judge(id: str) -> Outcome:
        asked.append(id)
        if id == "B-1":
            raise RuntimeError("ours")
        return outcome(id, State.FAILED)

    lanes = Lanes(judge)
    lanes.begin([["A-1", "A-2"], ["B-1", "B-2"]], width=1)
    assert [lanes.outcome(id) for id in ("A-1", "A-2", "B-1", "B-2")] == [None] * 4
    lanes.close()
    assert asked == ["A-1", "B-1"]


def test_without_width_everything_is_judged_alone() -> None:
    lanes = Lanes(outcome)
    lanes.begin([["A-1"]], width=0)
    assert lanes.outcome("A-1") is None
    lanes.close()


def test_what_has_passed_is_known_before_anybody_asks() -> None:
    lanes = Lanes(lambda id: outcome(id, State.FAILED if id == "B-1" else State.PASSED))
    lanes.begin([["A-1", "A-2"], ["B-1"]], width=2)
    assert lanes.outcome("C-1") is None
    assert sorted(each.result.case.id for each in lanes.passed()) == ["A-1", "A-2"]
    lanes.close()
