"""Answers that are too long, too many, or full of what a terminal would obey."""

from __future__ import annotations

import pytest
import yaml

from tests.drivers.judging import Judged
from tests.drivers.judging import judge
from tests.drivers.judging import module

ANSWERS = "tests.drivers.bad.answers"
SHORT = {"budgets": {"start": 10, "publish": 2}}

PEAK_MIB = 400
"""Most memory of pytest's process: an ordinary run takes 100, an answer at most 16 on the wire."""

TEXT = 5000
"""Most characters of one text of the report."""


def said(judged: Judged) -> str:
    """All that a run has written for people: to the terminal and into the report."""
    return judged.output + yaml.safe_dump(dict(judged.report), allow_unicode=True, width=10**6)


def is_plain(judged: Judged) -> bool:
    """True if nothing of it moves a cursor, turns the direction or ends a line by surprise."""
    return all(each.isprintable() or each in "\n\t" for each in said(judged))


@pytest.mark.parametrize("what", ["info-long", "info-escapes"])
def test_a_name_that_is_none_fails_its_case_and_is_shown_short_and_plain(what: str) -> None:
    judged = judge(module(ANSWERS, what), cases="REG-001,REG-003,SLICE-001,PREP-023", profile=SHORT)
    assert judged.ids("failed") == {"REG-003", "SLICE-001"}
    assert judged.ids("passed") == {"REG-001"}
    assert judged.reason("PREP-023") == "blocked by SLICE-001"
    assert judged.cases["REG-003"]["where"] == "GetInfo.name"
    assert "a legal driver name" in judged.cases["REG-003"]["want"]
    assert len(judged.cases["SLICE-001"]["where"].splitlines()) == 1
    assert max(len(judged.got(id)) for id in judged.ids("failed")) < TEXT
    assert is_plain(judged)
    assert judged.peak_mib is not None
    assert judged.peak_mib < PEAK_MIB
    assert judged.left == ()


def test_a_gigantic_registration_info_is_refused_by_its_size() -> None:
    judged = judge(module(ANSWERS, "info-giant"), cases="REG-001,REG-002,PREP-023")
    assert judged.ids("failed") == {"REG-002"}
    assert "RESOURCE_EXHAUSTED" in judged.got("REG-002")
    assert judged.reason("PREP-023") == "blocked by REG-002"
    assert judged.peak_mib is not None
    assert judged.peak_mib < PEAK_MIB
    assert judged.left == ()


@pytest.mark.parametrize(
    ("what", "why"),
    [("giant", "RESOURCE_EXHAUSTED"), ("escapes", "prepare: \\x1b[2J"), ("status", "INTERNAL")],
)
def test_what_prepare_says_is_refused_or_shown_plain(what: str, why: str) -> None:
    judged = judge(module(ANSWERS, what), cases="REG-002,PREP-023,UNP-004")
    assert judged.ids("failed") == {"PREP-023"}
    assert why in judged.got("PREP-023")
    assert judged.reason("UNP-004") == "blocked by PREP-023"
    assert is_plain(judged)
    assert judged.peak_mib is not None
    assert judged.peak_mib < PEAK_MIB
    assert judged.left == ()


@pytest.mark.parametrize("what", ["devices", "claims"])
def test_ten_thousand_entries_that_nobody_asked_for_fail_a_case_and_cost_little(what: str) -> None:
    judged = judge(module(ANSWERS, what), cases="PREP-002,PREP-023,UNP-004")
    assert judged.ids("errored") == set()
    assert {"PREP-023", "UNP-004"} <= judged.ids("passed")
    assert judged.peak_mib is not None
    assert judged.peak_mib < PEAK_MIB
    assert judged.left == ()
