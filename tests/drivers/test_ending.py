"""Drivers that cannot be started, end by themselves, or never come."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drivers.judging import Judged
from tests.drivers.judging import judge
from tests.drivers.judging import module

ENDING = "tests.drivers.bad.ending"
SHORT = {"budgets": {"start": 2, "publish": 2}}


def errors(judged: Judged) -> list[str]:
    """What pytest says in place of a run."""
    return [line for line in judged.output.splitlines() if line.startswith("ERROR")]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("no-such-driver", "is not on PATH"),
        ("/no/such/driver", "does not exist"),
        (str(Path(__file__)), "is not an executable program"),
    ],
)
def test_a_program_that_cannot_run_is_a_usage_error_before_anything_starts(
    program: str, why: str
) -> None:
    judged = judge(f"exec:{program} --flag")
    assert judged.code == 4
    assert errors(judged) == [f"ERROR: --dra-driver: the driver's program {program!r} {why}"] or (
        errors(judged) == [f"ERROR: --dra-driver: {program!r} {why}"]
    )
    assert judged.cases == {}
    assert judged.left == ()


def test_what_only_executing_shows_is_our_error_in_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "driver"
    script.write_text("#!/no/such/interpreter\n", "utf-8")
    script.chmod(0o755)
    judged = judge(f"exec:{script}", cases="REG-001,REG-002,SLICE-001")
    assert judged.code == 1
    assert judged.report["verdict"] == "inconclusive"
    assert judged.ids("errored") == {"REG-001", "SLICE-001"}
    assert str(script) in judged.cases["REG-001"]["error"].splitlines()[-1]
    assert judged.reason("REG-002") == "blocked by REG-001"
    assert judged.left == ()


def test_a_plugin_of_nri_that_does_not_come_up_without_a_runtime_is_not_blamed_for_that() -> None:
    judged = judge(
        module(ENDING, "at-once"),
        cases="REG-001,REG-002,SLICE-001,PREP-001,SEC-006",
        profile={**SHORT, "injection": {"kind": "nri"}},
    )
    assert judged.ids("unsupported-environment") == {"REG-001", "SLICE-001"}
    assert "no runtime with an NRI socket" in judged.reason("REG-001")
    assert "--dra-cluster=kind" in judged.output
    assert judged.reason("REG-002") == "blocked by REG-001"
    assert judged.ids("failed", "errored") == set()
    assert judged.report["verdict"] == "inconclusive"
    assert judged.left == ()


def test_a_driver_that_exits_at_once_fails_two_cases_and_is_not_waited_for() -> None:
    judged = judge(module(ENDING, "at-once"))
    assert judged.code == 1
    assert judged.report["verdict"] == "non-conformant"
    assert judged.ids("failed") == {"REG-001", "SLICE-001"}
    assert judged.ids("passed", "errored") == set()
    ended = "process 'driver' exited with code 3: fatal: no GPU found"
    assert ended in judged.got("REG-001")
    assert ended in judged.got("SLICE-001")
    assert judged.reason("PREP-001") == "blocked by REG-001"
    assert judged.reason("SLICE-008") == "blocked by SLICE-001"
    assert all(entry["durationSeconds"] < 10 for entry in judged.cases.values())
    assert judged.left == ()


def test_a_driver_that_misses_its_data_directory_is_told_which_option_makes_it() -> None:
    judged = judge(module(ENDING, "no-directory"), cases="REG-001")
    assert "made before the start where --dra-driver-name=gpu.example.com" in judged.got("REG-001")


def test_a_driver_that_never_registers_fails_after_its_budget() -> None:
    judged = judge(
        module(ENDING, "never"), cases="REG-001,REG-010,SLICE-001,PREP-001", profile=SHORT
    )
    assert judged.ids("failed") == {"REG-001", "SLICE-001"}
    assert "no socket in 2 s" in judged.got("REG-001")
    assert judged.reason("PREP-001") == judged.reason("REG-010") == "blocked by REG-001"
    assert judged.left == ()


def test_a_driver_that_ends_once_registered_is_told_from_one_that_is_late() -> None:
    judged = judge(
        module(ENDING, "registered", "--write=never"), cases="REG-001,SLICE-001", profile=SHORT
    )
    assert judged.ids("errored") == set()
    assert judged.report["verdict"] == "non-conformant"
    assert "process 'driver' exited with code 4: out of memory" in judged.got("SLICE-001")
    assert judged.left == ()


def test_a_driver_that_ends_in_the_middle_of_a_prepare_fails_one_case() -> None:
    judged = judge(module(ENDING, "prepare"), cases="REG-001,PREP-023,PREP-001,RST-001")
    assert judged.ids("failed") == {"PREP-023"}
    assert "UNAVAILABLE" in judged.got("PREP-023")
    assert "process 'driver' exited with code 5: panic: nil map" in judged.got("PREP-023")
    assert judged.reason("PREP-001") == judged.reason("RST-001") == "blocked by PREP-023"
    assert judged.left == ()


def test_a_driver_that_ends_while_nobody_judges_that_is_told_in_a_warning() -> None:
    judged = judge(module(ENDING, "answered"), cases="PREP-00*,PREP-023,UNP-00*")
    assert "process 'driver' exited with code 5: segmentation fault" in judged.output
    notes = [note for entry in judged.cases.values() for note in entry.get("notes", ())]
    # A busy machine may see its end in the middle of a case, which says so as well.
    assert judged.ids("failed") or any("nobody had given it a reason to end" in n for n in notes)
    assert judged.ids("errored") == set()
    assert judged.left == ()
