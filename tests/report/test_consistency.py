"""A report agrees with itself; one that was changed afterwards does not."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import Scope
from pytest_dra.report.checksum import checksum
from pytest_dra.report.consistency import contradictions
from pytest_dra.report.document import document
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.spec import Depth
from pytest_dra.spec import Json
from tests.report import hostile
from tests.report.running import FEATURE_MUST_ID
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import of_scope
from tests.report.running import result
from tests.report.running import run_of

EVERY_STATE = dict(zip(sorted(catalogue().cases), list(State) * 40, strict=False))
RUN = run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.FAILED, SHOULD_ID: State.WAIVED})


def report(run: RunResult) -> Json:
    return document(run, summarise(run))


def found(data: Json) -> list[str]:
    return [
        f"{'.'.join(str(each) for each in place)}: {text}" for place, text in contradictions(data)
    ]


@pytest.mark.parametrize(
    "run",
    [
        RUN,
        run_of({}),
        run_of(EVERY_STATE),
        run_of(EVERY_STATE, depth=Depth.CLUSTER),
        run_of(EVERY_STATE, depth=Depth.STATIC),
        run_of(EVERY_STATE, profile=of_scope(Scope.CLUSTER)),
        run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.NOT_RUN}),
        run_of(results=(result(FEATURE_MUST_ID, State.FAILED, provisional=True),)),
        run_of(
            results=(
                result(MUST_ID, parameter="a"),
                result(MUST_ID, State.FAILED, parameter="b"),
                result(OTHER_MUST_ID, State.NOT_RUN, parameter="c"),
            )
        ),
        hostile.run(),
    ],
)
def test_what_is_written_agrees_with_itself(run: RunResult) -> None:
    assert found(report(run)) == []


def _passes(data: Json) -> None:
    case = next(each for each in data["cases"] if each["id"] == OTHER_MUST_ID)
    case["state"] = "passed"
    for field in ("where", "got", "want", "from"):
        del case[field]


def _upgraded(data: Json) -> None:
    data["verdict"] = "conformant"


def _recounted(data: Json) -> None:
    data["counts"]["MUST"]["passed"] += 1


def _renamed(data: Json) -> None:
    data["cases"][0]["id"] = "PREP-999"


def _eased(data: Json) -> None:
    data["cases"][0]["level"] = "MAY"


def _doubled(data: Json) -> None:
    data["cases"].append(data["cases"][0])


def _unlisted(data: Json) -> None:
    data["missing"] = [{"case": MUST_ID, "state": "waived", "reason": "x", "remedy": ""}]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (_passes, "counts.MUST.passed: 1, but 2 of the cases are passed"),
        (_passes, "profiles.1.verdict: non-conformant, but its cases make it conformant: "),
        (_passes, f"profiles.1.failed.0: {OTHER_MUST_ID} is not failed among the cases"),
        (_upgraded, "verdict: conformant, but NODE-CORE is non-conformant"),
        (_recounted, "counts.MUST.passed: 2, but 1 of the cases are passed"),
        (_doubled, "cases.3: PREP-001 stands there twice"),
        (_unlisted, "missing.0: PREP-001 is not among the cases that were not judged"),
    ],
)
def test_a_change_is_found(change: Callable[[Json], None], wanted: str) -> None:
    data = copy.deepcopy(report(RUN))
    change(data)
    texts = found(data)
    assert [each for each in texts if each.startswith(wanted)], texts
    assert texts[-1].startswith("checksum: the report was changed after it was written")


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (_renamed, "cases.0.id: the catalogue has no case PREP-999"),
        (_eased, "cases.0.level: PREP-001 is a MUST"),
    ],
)
def test_cases_are_held_against_the_catalogue_where_it_is_the_same(
    change: Callable[[Json], None], wanted: str
) -> None:
    data = copy.deepcopy(report(RUN))
    change(data)
    assert wanted in found(data)
    data["catalogue"]["hash"] = "0" * 16
    assert wanted not in found(data)


def test_a_must_that_nobody_judged_is_listed_as_missing() -> None:
    data = copy.deepcopy(report(run_of({MUST_ID: State.NOT_RUN})))
    data["missing"] = []
    assert f"cases.0: {MUST_ID} was not judged and is not listed as missing" in found(data)


def test_a_report_must_judge_the_profile_that_decides() -> None:
    data = copy.deepcopy(report(RUN))
    data["profiles"] = [each for each in data["profiles"] if each["name"] != "NODE-CORE"]
    assert "verdictOf.profile: the report does not judge NODE-CORE" in found(data)


def test_the_checksum_stands_for_everything_but_times() -> None:
    data = report(RUN)
    again = {**data, "startedAt": "2027-01-01T00:00:00Z", "durationSeconds": 9, "figures": {}}
    assert checksum(again) == data["checksum"]
    assert checksum({**data, "verdict": "conformant"}) != data["checksum"]
    odd: Json = {"profile": {1: "a key of a hand-written file", "b": None}}
    assert checksum(odd).startswith("sha256:")
