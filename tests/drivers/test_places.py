"""Directories full of traps, and drivers that spoil the directories themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drivers.judging import judge
from tests.drivers.judging import module

PLACES = "tests.drivers.bad.places"

PEAK_MIB = 400
"""Most memory of pytest's process: an ordinary run takes 100."""

PATIENT = {"budgets": {"start": 60, "publish": 60}}
"""For a driver that writes thousands of files first."""

SHORT = {"budgets": {"start": 10, "publish": 10}}
"""For a driver that cannot come back."""


@pytest.mark.parametrize(
    ("what", "spec", "why"),
    [
        ("sparse", "sparse.json", "larger than 10485760 bytes"),
        ("nested", "nested.json", "nest"),
        ("aliases", "aliases.yaml", "unknown field 'a0'"),
        ("odd", "circle.json", "Too many levels of symbolic links"),
        ("roots", "circle.json", "Too many levels of symbolic links"),
    ],
)
def test_a_trap_in_the_cdi_directory_fails_one_case(what: str, spec: str, why: str) -> None:
    judged = judge(module(PLACES, what), cases="CDI-001,PREP-023,UNP-004")
    assert judged.ids("failed") == {"CDI-001"}
    assert judged.cases["CDI-001"]["where"] == f"CDI spec {spec}"
    assert why in judged.got("CDI-001")
    assert judged.ids("passed") == {"PREP-023", "UNP-004"}
    assert judged.peak_mib is not None
    assert judged.peak_mib < PEAK_MIB
    assert judged.left == ()


def test_thousands_of_files_are_read_in_part() -> None:
    judged = judge(module(PLACES, "files"), cases="REG-001,PREP-023", profile=PATIENT)
    assert judged.ids("errored") == set()
    assert judged.ids("passed") == {"REG-001", "PREP-023"}
    assert judged.peak_mib is not None
    assert judged.peak_mib < PEAK_MIB
    assert judged.left == ()


@pytest.mark.parametrize(
    ("what", "said"),
    [("removes", "directory cdi is gone"), ("swaps", "directory cdi is a link to '/proc' now")],
)
def test_spoiled_directories_are_named_and_nothing_behind_them_is_touched(
    what: str, said: str
) -> None:
    before = set(Path("/").iterdir())
    judged = judge(module(PLACES, what), cases="REG-003,PREP-023,UNP-004,RST-004", profile=SHORT)
    assert judged.ids("errored") == set()
    assert judged.state("UNP-004") == "failed"
    assert said in judged.got("UNP-004")
    assert set(Path("/").iterdir()) == before
    assert judged.left == ()


def test_locked_directories_are_opened_again_at_the_end() -> None:
    judged = judge(module(PLACES, "locks"), cases="PREP-023,UNP-004")
    assert judged.ids("errored") == set()
    assert judged.left == ()
