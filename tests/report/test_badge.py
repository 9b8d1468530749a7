"""The badge: what passed, in a form that shields and browsers take."""

from __future__ import annotations

import json

import pytest

from pytest_dra.report import badge
from pytest_dra.report.document import document
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.spec import Json
from tests.report import hostile
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import run_of


def data(run: RunResult) -> Json:
    return document(run, summarise(run))


PASSED = run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.NOT_APPLICABLE})


@pytest.mark.parametrize(
    ("run", "message", "colour"),
    [
        (PASSED, "NODE-CORE 1/1 MUST, 1.37", "brightgreen"),
        (
            run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.FAILED}),
            "NODE-CORE 1/2 MUST, 1.37, non-conformant",
            "red",
        ),
        (
            run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.WAIVED}),
            "NODE-CORE 1/2 MUST, 1.37, partial",
            "yellow",
        ),
        (run_of({}), "NODE-CORE 0/0 MUST, 1.37, inconclusive", "lightgrey"),
    ],
)
def test_a_shields_endpoint_is_told_what_passed(run: RunResult, message: str, colour: str) -> None:
    assert json.loads(badge.endpoint(data(run))) == {
        "schemaVersion": 1,
        "label": "pytest-dra",
        "message": message,
        "color": colour,
    }


def test_the_picture_says_the_same_to_eyes_and_screen_readers() -> None:
    picture = hostile.Elements(badge.picture(data(PASSED)))
    assert (picture.wrong, picture.open) == ([], [])
    told = "pytest-dra: NODE-CORE 1/1 MUST, 1.37"
    assert picture.values("aria-label") == [told]
    assert "".join(picture.texts).strip() == f"{told}pytest-draNODE-CORE 1/1 MUST, 1.37"


def test_nothing_of_a_driver_stands_in_it() -> None:
    assert "alert" not in badge.picture(data(hostile.run())) + badge.endpoint(data(hostile.run()))


def test_nothing_is_called_certified() -> None:
    assert "certif" not in badge.picture(data(PASSED)) + badge.endpoint(data(PASSED))
