"""Which of xdist's workers judges which case."""

from __future__ import annotations

import pytest

from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.shares import shares_of
from tests.plugin.conftest import Runs

COUNTS = (1, 2, 3, 8)
QUIET = ("SLICE-011", "SLICE-015", "SLICE-016")
APART = "REG-001,PREP-001,RST-005,RST-010"
BESIDE = ("--dra-driver=fake", "--dra-suite=with", "--dra-case=REG-001,PREP-001")
LONG = ("IDEM-009", "SLICE-019", "RST-005", "ATTR-011")


@pytest.mark.parametrize("count", COUNTS)
def test_each_case_is_in_one_share_and_no_share_is_empty(count: int) -> None:
    ids = sorted(implemented())
    shares = shares_of(ids, count, declared=declared)
    assert sorted(shares) == ids
    assert set(shares.values()) == set(range(count))


def test_the_order_of_collection_makes_no_difference() -> None:
    ids = sorted(implemented())
    assert shares_of(ids, 3, declared=declared) == shares_of(ids[::-1], 3, declared=declared)


def test_what_waits_for_quiet_waits_together_and_what_takes_long_is_spread() -> None:
    shares = shares_of(implemented(), 2, declared=declared)
    assert {shares[id] for id in QUIET} == {0}
    assert {shares[id] for id in LONG} == {0, 1}


def test_no_cases_are_no_shares() -> None:
    assert shares_of((), 2, declared=declared) == {}


def test_a_worker_begins_apart_what_is_in_its_own_share(runs: Runs) -> None:
    runs.really("--dra-driver=fake", f"--dra-case={APART}", "-n", "2")
    assert _passed(runs) == set(APART.split(","))


def test_a_test_of_the_users_beside_the_cases_runs_once(runs: Runs) -> None:
    (runs.folder / "test_own.py").write_text("def test_own(): pass\n")
    done = runs.really(*BESIDE, "-n", "2", "test_own.py")
    done.assert_outcomes(passed=3)
    assert _passed(runs) == {"REG-001", "PREP-001"}


def _passed(runs: Runs) -> set[str]:
    return {id for id, state in runs.states().items() if state == "passed"}
