"""Which cases run: ``--dra-case``, and pytest's own ways to choose."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from pytest_dra.selection import SelectionError
from pytest_dra.selection import select
from tests.plugin.conftest import EVERY
from tests.plugin.conftest import Runs

IDS = implemented()
PARTIAL = "--dra-require=partial"


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ("PREP-006", {"PREP-006"}),
        ("prep-006", {"PREP-006"}),
        (" PREP-006 , reg-00[12],", {"PREP-006", "REG-001", "REG-002"}),
        ("RST", {id for id in IDS if id.startswith("RST-")}),
        ("IDEM-*", {id for id in IDS if id.startswith("IDEM-")}),
        ("idem", {id for id in IDS if id.startswith("IDEM-")}),
        ("*-001", {id for id in IDS if id.endswith("-001")}),
        ("", IDS),
        ("*", IDS),
    ],
)
def test_ids_areas_and_patterns_select(patterns: str, chosen: set[str]) -> None:
    assert select(patterns, IDS, catalogue().cases) == chosen


def test_a_case_that_this_release_lacks_is_told_as_that() -> None:
    with pytest.raises(SelectionError, match="in the catalogue, but not in this release"):
        select("PREP-006", IDS - {"PREP-006"}, catalogue().cases)


@pytest.mark.parametrize("patterns", ["PREP", "PREP-*", "PREP-0??"])
def test_an_area_selects_only_what_this_release_has(patterns: str) -> None:
    assert select(patterns, IDS, catalogue().cases) <= IDS


def test_one_pattern_that_matches_nothing_spoils_all() -> None:
    with pytest.raises(SelectionError, match=r"^--dra-case=PRPE-006: matches no case; did you"):
        select("PREP-001,PRPE-006", IDS, catalogue().cases)


def test_hostile_patterns_are_only_patterns() -> None:
    with pytest.raises(SelectionError):
        select("[[[(", IDS, catalogue().cases)


def ran(runs: Runs) -> set[str]:
    return {id for id, state in runs.states().items() if state != "not-run"}


def test_a_keyword_selects_by_id(runs: Runs) -> None:
    runs.judge("-k", "REG-002", PARTIAL).assert_outcomes(passed=1, deselected=EVERY - 1)
    assert ran(runs) == {"REG-002"}
    assert runs.cases()["REG-001"]["reason"] == "deselected"


def test_a_keyword_and_case_ids_select_together(runs: Runs) -> None:
    runs.judge("-k", "001 or 002", "--dra-case=REG,PREP-001", PARTIAL)
    assert ran(runs) == {"REG-001", "REG-002", "PREP-001"}


def test_the_marker_selects_the_cases_beside_the_users_tests(runs: Runs) -> None:
    runs.pytester.makepyfile("def test_own(): pass")
    done = runs.judge("-m", "dra_case", "--dra-suite=with", "--dra-case=REG", PARTIAL)
    done.assert_outcomes(passed=len(ran(runs)), deselected=EVERY + 1 - len(ran(runs)))


def test_collecting_alone_lists_each_case_and_judges_none(runs: Runs) -> None:
    done = runs.judge("--co", "-q")
    assert done.ret is pytest.ExitCode.OK
    assert len([line for line in done.outlines if "::test_" in line]) == len(IDS) == EVERY
    done.stdout.no_fnmatch_line("*verdict*")


@pytest.mark.parametrize("benches", ["1", "4"])
def test_cases_that_disturb_the_driver_come_late_and_the_users_tests_first(
    runs: Runs, benches: str
) -> None:
    runs.pytester.makepyfile(test_zzz="def test_own(): pass")
    done = runs.judge("--co", "-q", "--dra-suite=with", f"--dra-benches={benches}")
    names = [line.rpartition("::")[2] for line in done.outlines if "::" in line]
    assert names[0] == "test_own"
    ids = ["-".join(name.split("_")[1:3]).upper() for name in names[1:]]
    rest = _without_the_end(ids, _looks_back)
    if benches != "1":
        rest = _without_the_end(rest, lambda id: declared(id).apart_s > 0)
    _without_the_end(rest, lambda id: declared(id).disturbs)


def _without_the_end(ids: list[str], belongs: Callable[[str], bool]) -> list[str]:
    """``ids`` without those at its end that belong there: nowhere else is one of them."""
    those = [id for id in ids if belongs(id)]
    assert ids[len(ids) - len(those) :] == those
    return ids[: len(ids) - len(those)]


def _looks_back(id: str) -> bool:
    """True for a case that judges the whole run, which can only come last."""
    return declared(id).settles and declared(id).case.observation == "timeline"


def test_the_first_failure_stops_the_run_and_the_rest_is_not_run(runs: Runs) -> None:
    runs.script(PREP_001="failed")
    done = runs.judge("-x", "--dra-case=PREP-001,PREP-002,PREP-003")
    done.assert_outcomes(failed=1, deselected=EVERY - 3)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    cases = runs.cases()
    reasons = sorted(each.get("reason", each["state"]) for each in cases.values())
    assert reasons.count("deselected: the run ended before it") == 2
    assert reasons.count("failed") == 1


def test_a_failed_should_does_not_stop_a_run(runs: Runs) -> None:
    runs.script(REG_005="failed", REG_007="failed")
    done = runs.judge("-x", "--dra-case=REG", PARTIAL)
    assert done.parseoutcomes()["xfailed"] == 2
    assert done.ret is pytest.ExitCode.OK


def test_what_failed_last_runs_again_alone(runs: Runs) -> None:
    runs.script(PREP_006="failed", CDI_001="failed")
    runs.judge("-q").assert_outcomes(failed=2, passed=EVERY - 2)
    runs.script(CDI_001="failed")
    done = runs.judge("--lf")
    done.assert_outcomes(failed=1, passed=1, deselected=EVERY - 2)
    assert ran(runs) == {"PREP-006", "CDI-001"}


def test_junitxml_of_pytest_has_the_id_as_a_property(runs: Runs) -> None:
    runs.judge("--junitxml=own.xml", "--dra-case=REG-002", PARTIAL)
    text = (runs.folder / "own.xml").read_text("utf-8")
    assert '<property name="dra_case" value="REG-002"' in text


def test_a_conformance_profile_names_its_cases() -> None:
    found = select("CLUSTER-CORE", ["LIFE-001", "REG-001", "REG-002", "CDI-013"], [])
    assert found == {"LIFE-001", "REG-001"}
