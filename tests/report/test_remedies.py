"""What gets a case judged, and the command that runs it again."""

from __future__ import annotations

import dataclasses
import shlex

import pytest

from pytest_dra.report.remedies import command
from pytest_dra.report.remedies import remedy
from pytest_dra.report.results import Option
from pytest_dra.report.results import State
from tests.report.running import MUST_ID
from tests.report.running import result
from tests.report.running import run_of


@pytest.mark.parametrize(
    ("state", "reason", "wanted"),
    [
        (
            State.NOT_RUN,
            "deselected",
            "leave the selection of cases out, or name it: --dra-case=PREP-001",
        ),
        (State.NOT_RUN, "blocked by REG-001", "see why REG-001 did not pass: --dra-case=REG-001"),
        (
            State.NOT_RUN,
            "input missing: samples.bad_config",
            "give samples.bad_config (parameters that must be refused) in the profile "
            "(--dra-profile)",
        ),
        (
            State.WAIVED,
            "shares on purpose",
            "mend the driver, then remove the waiver from the profile (--dra-profile)",
        ),
        (State.UNSUPPORTED_ENVIRONMENT, "no user namespaces", ""),
    ],
)
def test_the_remedy_follows_from_the_reason(state: State, reason: str, wanted: str) -> None:
    assert remedy(result(MUST_ID, state, reason=reason)) == wanted


def test_a_case_that_knows_its_remedy_is_believed() -> None:
    found = result(
        MUST_ID, State.UNSUPPORTED_ENVIRONMENT, reason="no cluster", remedy="--dra-cluster=kind"
    )
    assert remedy(found) == "--dra-cluster=kind"


def test_the_command_repeats_what_was_not_a_default_and_selects_by_id() -> None:
    line = command(run_of({MUST_ID: State.PASSED}), ["PREP-006", "PREP-001", "PREP-006"])
    assert shlex.split(line) == [
        "pytest",
        "--dra-driver=exec:my driver --node={node}",
        "--dra-strict",
        "--dra-case=PREP-001,PREP-006",
    ]
    assert "::" not in line


def test_the_command_gives_no_secret_away() -> None:
    run = dataclasses.replace(
        run_of({}),
        options=(
            Option(name="--dra-driver", value="exec:d --token=abc", source="command line"),
            Option(name="--dra-off", value=False, source="command line"),
        ),
    )
    assert shlex.split(command(run)) == ["pytest", "--dra-driver=exec:d --token=<redacted>"]
