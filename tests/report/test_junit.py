"""``junit.xml``: one test case an id, states told apart, well-formed whatever was said."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_dra.catalogue import catalogue
from pytest_dra.report.junit import TEXT_LIMIT
from pytest_dra.report.junit import render
from pytest_dra.report.results import Finding
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import result
from tests.report.running import run_of


def suite_of(run: RunResult) -> ET.Element:
    text = render(run, summarise(run)).encode()
    found = ET.fromstring(text).find("testsuite")  # noqa: S314 (our own text, of known size)
    assert found is not None
    return found


def case_of(suite: ET.Element, name: str) -> ET.Element:
    found = suite.find(f"testcase[@name='{name}']")
    assert found is not None
    return found


def outcome(case: ET.Element) -> list[str]:
    return [each.tag for each in case if each.tag not in ("properties", "system-out")]


def properties(element: ET.Element) -> dict[str, str]:
    return {
        each.attrib["name"]: each.attrib["value"] for each in element.findall("properties/property")
    }


def test_every_state_has_its_element() -> None:
    ids = sorted(catalogue().cases)[: len(State)]
    suite = suite_of(run_of(dict(zip(ids, State, strict=True))))
    found = {properties(each)["state"]: outcome(each) for each in suite.findall("testcase")}
    assert found == {
        "passed": [],
        "failed": ["failure"],
        "errored": ["error"],
        "not-applicable": [],
        "waived": ["skipped"],
        "unsupported-environment": ["skipped"],
        "not-run": ["skipped"],
    }
    assert {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "7",
        "failures": "1",
        "errors": "1",
        "skipped": "3",
    }


def test_a_test_case_is_named_by_id_and_area() -> None:
    case = case_of(suite_of(run_of({MUST_ID: State.PASSED})), MUST_ID)
    assert case.attrib["classname"] == "pytest-dra.PREP"
    assert properties(case)["level"] == "MUST"
    assert properties(case)["profiles"] == "NODE-CORE"


def test_the_suite_says_what_was_judged() -> None:
    found = properties(suite_of(run_of({MUST_ID: State.PASSED})))
    assert found["verdict"] == "conformant"
    assert found["verdictOf"] == "NODE-CORE"
    assert found["kubernetes"] == "1.37"
    assert "no certification" in found["disclaimer"]


def test_a_failure_tells_the_whole_finding() -> None:
    run = run_of(results=(result(MUST_ID, State.FAILED, excerpt=("+1.000 s #3 x",)),))
    failure = case_of(suite_of(run), MUST_ID).find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "claim 'a'"
    assert failure.text is not None
    assert failure.text.splitlines()[1:] == [
        "claim 'a'",
        "  got:  {}",
        "  want: an entry for each claim",
        "  from: proto: x",
        "  timeline:",
        "    +1.000 s #3 x",
    ]


def test_an_error_says_its_last_line_first() -> None:
    error = case_of(suite_of(run_of({MUST_ID: State.ERRORED})), MUST_ID).find("error")
    assert error is not None
    assert error.attrib["message"] == "OSError: no space left"


def test_what_did_not_run_says_why_and_what_would_run_it() -> None:
    skipped = case_of(suite_of(run_of({MUST_ID: State.NOT_RUN})), MUST_ID).find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "not-run: deselected"
    assert skipped.text == f"leave the selection of cases out, or name it: --dra-case={MUST_ID}"


def test_a_provisional_failure_makes_no_build_red() -> None:
    run = run_of(
        {SHOULD_ID: State.PASSED},
        results=(result(OTHER_MUST_ID, State.FAILED, provisional=True),),
    )
    suite = suite_of(run)
    assert suite.attrib["failures"] == "0"
    case = case_of(suite, OTHER_MUST_ID)
    assert properties(case)["provisional"] == "true"
    assert properties(case)["state"] == "failed"
    assert outcome(case) == ["skipped"]


@settings(max_examples=50, deadline=None)
@given(said=st.text(max_size=200))
def test_whatever_a_driver_says_the_xml_is_well_formed(said: str) -> None:
    finding = Finding(where=said, got=said, want=said, source=said)
    run = run_of(results=(result(MUST_ID, State.FAILED, finding=finding, excerpt=(said,)),))
    suite = suite_of(dataclasses.replace(run, driver=said, launched=said))
    assert suite.attrib["failures"] == "1"


def test_a_flood_is_cut() -> None:
    finding = Finding(where="w" * 10**6, got="g" * 10**6, want="x" * 10**6, source="s" * 10**6)
    flood = tuple("l" * 10**4 for _ in range(100))
    run = run_of(results=(result(MUST_ID, State.FAILED, finding=finding, excerpt=flood),))
    failure = case_of(suite_of(run), MUST_ID).find("failure")
    assert failure is not None
    assert failure.text is not None
    assert len(failure.text) <= TEXT_LIMIT
    assert len(render(run, summarise(run))) < 2 * TEXT_LIMIT
