"""The Markdown summary: what a reader of a pipeline needs, and no markup of a driver's."""

from __future__ import annotations

import re

from pytest_dra.catalogue import catalogue
from pytest_dra.report import markdown
from pytest_dra.report.document import document
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from tests.report import hostile
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import result
from tests.report.running import run_of


def text(run: RunResult) -> str:
    return markdown.render(document(run, summarise(run)))


def test_verdict_table_and_command_are_there() -> None:
    shown = text(run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.NOT_RUN}))
    assert shown.startswith("## ◐ DRA conformance: partial\n")
    assert "**1 of 2** applicable MUST cases of NODE-CORE passed, at wire depth" in shown
    assert "| MUST | 1 | 0 | 0 | 0 | 0 | 0 | 1 |" in shown
    assert f"- not-run, <code>deselected</code>: {OTHER_MUST_ID} (1 MUST)." in shown
    assert "Reproduce: <code>pytest " in shown
    assert "no certification" in shown


def test_a_failure_is_a_row() -> None:
    (row,) = [
        each for each in text(run_of({MUST_ID: State.FAILED})).splitlines() if MUST_ID in each[:20]
    ]
    assert row.count("|") == 6
    assert "claim &#39;a&#39;" in row


def test_of_many_failures_the_rest_is_only_named() -> None:
    ids = sorted(catalogue().cases)[:60]
    shown = text(run_of(dict.fromkeys(ids, State.FAILED)))
    assert shown.count(" | MUST | ") + shown.count(" | SHOULD | ") + shown.count(" | MAY | ") == 50
    assert "\nAnd " in shown


def test_nothing_of_a_hostile_driver_is_markup() -> None:
    shown = text(hostile.run())
    assert not hostile.CONTROLS & set(shown)
    left = re.sub(r"<(/?code|/?sub)>", "", shown)
    assert "<" not in left
    for mark in ("javascript:", "](", "`", "http://", "@kubernetes", "{{"):
        assert mark not in left
    for row in (each for each in shown.splitlines() if each.startswith("| ")):
        assert row.count("|") in (6, 9)


def test_an_errored_case_has_no_words_of_the_driver() -> None:
    assert "errored, which is not the driver's fault" in text(run_of({MUST_ID: State.ERRORED}))


def test_provisional_cases_are_named() -> None:
    run = run_of(results=(result("HLTH-003", State.PASSED, provisional=True),))
    assert "Provisional (feature seen, not declared; not counted): HLTH-003 passed" in text(run)
