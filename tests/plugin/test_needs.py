"""Prerequisites: judged first, and what needs a failed one is not run, at once."""

from __future__ import annotations

import pytest

from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Case
from tests.plugin.conftest import Runs


def needing(id: str) -> set[str]:
    """Ids of all cases that need one, directly or not."""
    direct = {each for each in implemented() if id in catalogue().case(each).needs}
    return direct | {more for each in direct for more in needing(each)}


def test_what_needs_a_failed_case_is_blocked_by_the_root_of_it(runs: Runs) -> None:
    runs.script(REG_001="failed")
    done = runs.judge()
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    cases = runs.cases()
    blocked = {id for id, each in cases.items() if each.get("reason") == "blocked by REG-001"}
    lacking = {
        id
        for id, each in cases.items()
        if each["state"] == "not-applicable" or "input missing" in each.get("reason", "")
    }
    assert blocked == (needing("REG-001") - needing("SLICE-001") - lacking) | {
        id for id in needing("REG-001") - lacking if cases[id]["state"] == "not-run"
    }
    assert {id for id, each in cases.items() if each["state"] == "failed"} == {"REG-001"}
    assert "PREP-006" in blocked


@pytest.mark.parametrize("state", ["failed", "errored"])
@pytest.mark.parametrize("selection", ["--dra-case=PREP-006", "-k=PREP-006"])
def test_a_deselected_prerequisite_blocks_as_well(runs: Runs, state: str, selection: str) -> None:
    runs.script(PREP_023=state)
    done = runs.judge(selection, "-rs", "--dra-require=partial")
    assert done.ret is pytest.ExitCode.NO_TESTS_COLLECTED
    done.stdout.fnmatch_lines(["*not-run: blocked by PREP-023*"])
    cases = runs.cases()
    assert cases["PREP-006"]["reason"] == "blocked by PREP-023"
    assert cases["PREP-023"]["reason"] == "deselected"
    done.stdout.fnmatch_lines(["*see why PREP-023 did not pass: --dra-case=PREP-023"])


@pytest.mark.parametrize("state", ["waived", "not-applicable", "unsupported-environment"])
def test_what_is_not_a_failure_blocks_nothing(runs: Runs, state: str) -> None:
    runs.script(PREP_023=state)
    runs.judge("--dra-case=PREP-006")
    assert runs.states()["PREP-006"] == "passed"


def test_a_waived_prerequisite_is_not_judged_and_blocks_nothing(runs: Runs) -> None:
    (runs.folder / "p.yaml").write_text("""
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver: {name: gpu.example.com}
waivers:
  - {case: PREP-023, reason: known, link: "https://example.com/1", expires: 2999-01-31}
""")
    runs.script(PREP_023="failed")
    done = runs.judge("--dra-profile=p.yaml", "-rs", "--dra-require=partial")
    assert done.ret is pytest.ExitCode.OK
    case = runs.cases()["PREP-023"]
    assert case["state"] == "waived"
    assert case["reason"] == "known (https://example.com/1), until 2999-01-31"
    assert runs.states()["PREP-006"] == "passed"
    done.stdout.fnmatch_lines(["*waived: known (https://example.com/1)*"])
    assert runs.report()["verdict"] == "partial"


def test_a_driver_that_injects_nothing_is_not_asked_for_cdi(runs: Runs) -> None:
    (runs.folder / "p.yaml").write_text("""
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver: {name: gpu.example.com}
injection: {kind: none}
""")
    runs.script(CDI_001="failed", CDI_002="failed")
    done = runs.judge("--dra-profile=p.yaml", "--dra-require=partial")
    assert done.ret is pytest.ExitCode.OK
    cases = runs.cases()
    assert cases["CDI-001"]["state"] == "not-applicable"
    assert cases["CDI-001"]["reason"]
    assert runs.report()["verdict"] == "partial"


def test_an_input_that_is_missing_is_named_with_the_field(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(case: Case, _: object) -> list[str]:
        return ["samples.good_config"] if case.id == "PREP-006" else []

    monkeypatch.setattr("pytest_dra.session.missing_inputs", missing)
    done = runs.judge("--dra-require=partial")
    assert done.ret is pytest.ExitCode.OK
    assert runs.cases()["PREP-006"]["reason"] == "input missing: samples.good_config"
    done.stdout.fnmatch_lines(["*give samples.good_config (*) in the profile (--dra-profile)"])
