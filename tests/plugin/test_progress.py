"""A long wait is spoken of, and a short one is not."""

from __future__ import annotations

import importlib.resources
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_dra.cases import implemented
from pytest_dra.planning import PROFILE_FILE as FILE
from pytest_dra.profile import load_profile
from pytest_dra.progress import Progress
from pytest_dra.report.results import State
from pytest_dra.report.terminal import marks_of
from pytest_dra.report.terminal import summary_lines
from pytest_dra.report.verdict import summarise
from tests.plugin.conftest import Runs
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import result
from tests.report.running import run_of

SCREEN = 24
"""Lines of a terminal."""

LIMIT_S = 30.0
"""Longest wait for a word that is due at once."""


def test_a_long_wait_says_which_case_and_since_when() -> None:
    said: list[str] = []
    third = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 3:
            third.set()

    progress = Progress(say, first_s=0.01)
    progress.total = 2
    with progress.judging("PREP-001", "every claim gets an entry"):
        assert third.wait(LIMIT_S)
    assert said[:3] == [
        f"dra: PREP-001 for {seconds} s now: every claim gets an entry (0 of 2 cases were judged)"
        for seconds in ("0.01", "0.02", "0.04")
    ]
    assert progress.judged == 1


def test_a_short_one_says_nothing_and_an_error_passes() -> None:
    said: list[str] = []
    progress = Progress(said.append)
    with pytest.raises(KeyboardInterrupt), progress.judging("PREP-001", "x"):
        raise KeyboardInterrupt
    assert said == []
    assert not [each for each in threading.enumerate() if each.name == "progress"]


@pytest.mark.parametrize(
    ("line", "marks"),
    [
        ("verdict: conformant (NODE-CORE)", {"green": True, "bold": True}),
        ("verdict: non-conformant (NODE-CORE)", {"red": True, "bold": True}),
        ("verdict: partial (NODE-CORE)", {"yellow": True, "bold": True}),
        ("warning, SEC-002: x", {"yellow": True}),
        ("verdict: of a driver's own", {}),
        ("report: conformant", {}),
    ],
)
def test_colours_are_those_of_the_verdict(line: str, marks: dict[str, bool]) -> None:
    assert marks_of(line) == marks


def test_a_run_that_ended_early_says_that_its_report_is_of_a_part_only() -> None:
    left = result(OTHER_MUST_ID, State.NOT_RUN, reason="deselected: the run ended before it")
    run = run_of(results=(result(MUST_ID), left))
    wanted = "the run ended early: 1 case was left over, and this report is of a part only"
    assert wanted in summary_lines(run, summarise(run))
    whole = run_of({MUST_ID: State.PASSED})
    assert wanted not in summary_lines(whole, summarise(whole))


@pytest.mark.parametrize(
    ("arguments", "variables", "coloured"),
    [
        (("--color=yes",), {}, True),
        ((), {"NO_COLOR": "1"}, False),
    ],
)
def test_the_verdict_is_coloured_only_where_pytest_is(
    runs: Runs, arguments: tuple[str, ...], variables: dict[str, str], *, coloured: bool
) -> None:
    runs.script()
    runs.environment(**variables)
    done = runs.judge("--dra-case=PREP-001", "--dra-require=partial", *arguments)
    (line,) = [each for each in done.stdout.lines if "verdict: partial" in each]
    assert line.startswith("\x1b[") is coloured


class Talkative(Progress):
    """Says a word on each case at once."""

    @contextmanager
    def judging(self, id: str, title: str) -> Iterator[None]:
        self._say(f"dra: {id} for 15 s now")
        yield


@pytest.mark.parametrize(("arguments", "said"), [((), True), (("-q",), False)])
def test_words_on_long_waits_are_left_out_under_q_and_the_summary_is_not(
    runs: Runs, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, *, said: bool
) -> None:
    monkeypatch.setattr("pytest_dra.runner.Progress", Talkative)
    runs.script()
    done = runs.judge("--dra-case=PREP-001", "--dra-require=partial", *arguments)
    assert ("dra: PREP-001 for 15 s now" in done.stdout.lines) is said
    done.stdout.fnmatch_lines(["verdict: partial *"])


def test_the_summary_of_a_good_run_fits_on_a_screen() -> None:
    profile = load_profile(Path(str(importlib.resources.files("pytest_dra.fake_driver"))) / FILE)
    run = run_of(dict.fromkeys(implemented(), State.PASSED), profile=profile)
    assert len(summary_lines(run, summarise(run), report=Path("report.yaml"))) <= SCREEN
