"""Whole runs on real processes of the fake driver, good and faulty."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Runs

IDS = ("PREP-006", "CDI-002", "REG-014", "REG-002", "UNP-001")
"""Cases of several areas that wait for nothing."""

SELECTED = f"--dra-case={','.join(IDS)}"


@pytest.mark.parametrize("fault", ["", "CDI-002", "REG-014"])
def test_alone_together_and_under_xdist_a_case_ends_the_same(runs: Runs, fault: str) -> None:
    driver = f"--dra-driver=fake {f'--fault={fault}' if fault else ''}"
    together = runs.really(driver, SELECTED, "--dra-output=together")
    runs.really(driver, SELECTED, "--dra-output=xdist", "-n", "2")
    states = runs.states("together")
    assert runs.states("xdist") == states
    assert runs.report("xdist")["figures"]["prepare"]["calls"] > 0
    assert together.ret == pytest.ExitCode.TESTS_FAILED
    runs.really(driver, "-k", fault or "PREP-006", "--dra-output=keyword")
    alone = {id: state for id, state in runs.states("keyword").items() if state != "not-run"}
    assert alone == {fault or "PREP-006": states[fault or "PREP-006"]}
    failed = {id for id, state in states.items() if state == "failed"}
    assert failed == ({fault} if fault else set())


def test_a_driver_that_exits_at_once_fails_and_blocks(runs: Runs) -> None:
    done = runs.really("--dra-driver=exec:false")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    states = runs.states()
    assert states["REG-001"] == "failed"
    assert not {"passed", "errored"} & set(states.values())
    assert runs.report()["verdict"] == "non-conformant"


def test_a_program_that_cannot_be_executed_is_no_fault_of_a_driver(runs: Runs) -> None:
    garbage = runs.folder / "garbage"
    garbage.write_bytes(b"\x00\x01\x02")
    garbage.chmod(0o755)
    done = runs.really(f"--dra-driver=exec:{garbage}", "--dra-case=REG-001,SLICE-001")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert runs.states()["REG-001"] == "errored"
    assert runs.report()["verdict"] == "inconclusive"
    done.stdout.fnmatch_lines(
        ["REG-001 errored, which is not the driver's: cannot start '*garbage': *Exec format error*"]
    )
    done.stdout.no_fnmatch_line("*process.py:*")


def test_no_secret_of_a_command_line_or_log_is_shown_anywhere(runs: Runs) -> None:
    driver = runs.folder / "driver"
    driver.write_text("#!/bin/sh\necho 'password = planted' >&2\nexit 3\n", "utf-8")
    driver.chmod(0o755)
    command = f"--dra-driver=exec:{driver} --token planted {{kubeconfig}}"
    done = runs.really(command, "--dra-case=REG-001", "--junitxml=theirs.xml")
    assert runs.states()["REG-001"] == "failed"
    done.stdout.fnmatch_lines(["dra: judging *--token <redacted> {kubeconfig}*"])
    done.stdout.no_fnmatch_line("*planted*")
    written = [each for each in runs.folder.rglob("*") if each.is_file() and each != driver]
    assert runs.folder / "theirs.xml" in written
    leaks = [str(each) for each in written if b"planted" in each.read_bytes()]
    assert leaks == []


def test_the_failed_case_shows_its_proof_and_the_drivers_output(runs: Runs) -> None:
    done = runs.really("--dra-driver=fake --fault=PREP-006", "--dra-case=PREP-006")
    done.stdout.fnmatch_lines(
        [
            "PREP-006 MUST *",
            "  got:  *",
            "  want: *",
            "  from: *",
            "  timeline:",
            "*NodePrepareResources*",
            "*driver output (end)*",
        ]
    )
    folder = runs.folder / "dra-results" / "cases" / "PREP-006"
    assert "NodePrepareResources" in (folder / "timeline.jsonl").read_text("utf-8")
    assert (folder / "driver.log").read_text("utf-8")
    (decisive,) = [each for each in runs.cases()["PREP-006"]["sequence"] if each["decides"]]
    assert (decisive["from"], decisive["to"]) == ("kubelet", "driver")
    assert runs.report()["figures"]["prepare"]["calls"] > 0
    page = (runs.folder / "dra-results" / "report.html").read_text("utf-8")
    assert "the moment that decides" in page


def test_a_feature_that_is_seen_and_not_declared_makes_its_cases_provisional(runs: Runs) -> None:
    runs.really("--dra-driver=fake --features=shares", "--dra-case=CAP-002,PREP-023,PART-008")
    cases = runs.cases()
    assert (cases["CAP-002"]["state"], cases["CAP-002"]["provisional"]) == ("passed", True)
    assert (cases["PREP-023"]["state"], cases["PREP-023"]["provisional"]) == ("passed", False)
    assert cases["PART-008"]["state"] == "not-applicable"
    assert "ConsumableCapacity" in runs.report()["features"]["provisional"]


def test_a_history_is_played_again(runs: Runs) -> None:
    (runs.folder / "history.txt").write_text("BAB", "utf-8")
    chosen = ("--dra-case=IDEM-009", "--dra-replay=history.txt")
    done = runs.really("--dra-driver=fake --fault=IDEM-009", *chosen)
    done.stdout.fnmatch_lines(["Unprepare A at the end of BAB: Prepare B, Prepare A, Prepare B"])
    kept = runs.folder / "dra-results" / "cases" / "IDEM-009" / "history.txt"
    assert kept.read_text("utf-8").splitlines()[-1] == "BAB"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_what_a_run_shows_beside_the_cases_is_told(runs: Runs, workers: tuple[str, ...]) -> None:
    chosen = "--dra-case=HLTH-001,SEC-002,UNP-001"
    done = runs.really("--dra-driver=fake --features=health", chosen, *workers)
    done.stdout.fnmatch_lines(
        [
            "observed: * s idle, 0 slice writes in them",
            "observed: requests of the API: resource.k8s.io/v1 (*), v1 (*)",
            "observed: calls of the kubelet: v1.DRAPlugin (*)",
            "observed: health by v1.DRAResourceHealth, *, lease * s",
        ]
    )
    seen = runs.report()["observations"]
    rights = seen["rights"]
    assert (rights["granted"], rights["lacking"]) == (True, [])
    nodes = {"group": "", "resource": "nodes", "verbs": ["get"]}
    assert nodes in rights["used"]
    assert nodes not in rights["unused"]
    assert any(each["reports"] for each in seen["health"])


def test_what_shows_on_a_health_stream_or_with_a_claim_is_seen_as_well(runs: Runs) -> None:
    chosen = ("HLTH-001", "META-001", "STAT-001")
    for features, seen in (("health,metadata,status", chosen), ("shares", ())):
        runs.really(f"--dra-driver=fake --features={features}", f"--dra-case={','.join(chosen)}")
        cases = runs.cases()
        found = {id for id in chosen if cases[id]["provisional"] and cases[id]["state"] == "passed"}
        assert found == set(seen)
