"""A run is held against what is stored of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pytest_dra.cases import implemented
from tests.drivers import go_driver
from tests.drivers import js_driver
from tests.drivers import upstream
from tests.drivers.expecting import Seen
from tests.drivers.expecting import compare
from tests.drivers.expecting import differences

STATES = {"A-001": "passed", "A-002": "failed", "A-003": "not-run"}
SEEN = Seen("partial", STATES, dict.fromkeys(STATES, "why"), 1.0)


def expected(verdict: str = "partial", **states: str) -> dict[str, object]:
    """The stored form."""
    cases = {id.replace("_", "-"): {"state": state} for id, state in states.items()}
    return {"verdict": verdict, "cases": cases}


def test_what_is_as_stored_is_no_difference() -> None:
    assert differences(SEEN, expected(A_002="failed", A_003="not-run")) == []


def test_a_case_may_have_a_second_state_on_a_busy_machine() -> None:
    entry = {"state": "passed", "on_busy_machine": "not-run"}
    known = {"A-002": {"state": "failed"}, "A-003": entry}
    assert differences(SEEN, {"verdict": "partial", "cases": known}) == []
    entry["on_busy_machine"] = "errored"
    assert differences(SEEN, {"verdict": "partial", "cases": known}) != []


def test_a_case_that_is_not_named_has_to_pass_and_a_named_one_has_to_be_there() -> None:
    assert differences(SEEN, expected("conformant", A_002="failed", A_004="failed")) == [
        "verdict partial, expected conformant",
        "A-003 not-run, expected passed: why",
        "A-004 not reported, expected failed: ",
    ]


def test_each_run_has_its_own_expectation_where_there_is_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stored = {"one": expected(A_002="failed", A_003="not-run"), "two": expected("conformant")}
    assert compare({"one": lambda: SEEN, "two": lambda: SEEN}, stored) == 1
    assert "1 passed, 1 failed" in capsys.readouterr().out


def test_without_a_jail_the_reboot_is_not_expected_to_be_judged() -> None:
    row = go_driver.expectation(jailed=False)["1.37"]
    assert row["verdict"] == "partial"
    assert row["cases"]["RST-003"]["state"] == "unsupported-environment"
    assert "RST-003" not in go_driver.expectation(jailed=True)["1.37"]["cases"]


def test_every_stored_state_has_its_reason_and_is_that_of_a_case() -> None:
    files = (upstream.EXPECTED, js_driver.EXPECTED, go_driver.EXPECTED)
    stored = [json.loads(file.read_text("utf-8")) for file in files]
    for row in (*stored[:-1], *stored[-1]["rows"].values()):
        assert set(row["cases"]) <= set(implemented())
        assert all(entry["reason"] for entry in row["cases"].values())


def test_every_row_is_stored_and_has_its_module_list() -> None:
    assert set(go_driver.expectation(jailed=True)) == set(go_driver.ROWS)
    for row in go_driver.ROWS.values():
        named = [each.partition("=")[2] for each in row.arguments if each.startswith("-modfile")]
        assert (go_driver.SOURCE / (named or ["go.mod"])[0]).is_file()


def test_the_packages_of_the_driver_in_javascript_are_fixed_and_come_from_no_certain_registry() -> (
    None
):
    lock = json.loads((js_driver.SOURCE / "package-lock.json").read_text("utf-8"))
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert packages
    assert all(each["integrity"].startswith("sha512-") for each in packages.values())
    assert [name for name, each in packages.items() if "resolved" in each] == []


def test_without_node_the_driver_in_javascript_is_left_out_with_a_status_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert js_driver.main([]) == 2
    assert "node and npm are not both on PATH" in capsys.readouterr().out


def test_each_row_of_the_driver_in_javascript_is_a_program_with_its_switches(
    tmp_path: Path,
) -> None:
    row = js_driver.ROWS["slow"]
    place = js_driver.program("/bin/echo", Path("main.js"), row, tmp_path / "slow")
    argv = [str(place / js_driver.PROGRAM), "--node=x y"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=10.0, check=True)
    assert done.stdout == "main.js --qps=5 --burst=10 --node=x y\n"
