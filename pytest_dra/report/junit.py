"""``junit.xml``: one test case per case id, for what reads JUnit.

- failed: ``<failure>``; errored: ``<error>``.
- waived, unsupported-environment and not-run: ``<skipped>``, because a MUST in such a state keeps
  the driver from being conformant, which a reader must not miss.
- not-applicable: a passing test case with the property ``state=not-applicable``. The catalogue's
  rule is that a skip means environment, input or waiver, and never an undeclared feature.
- provisional: whatever came out is told, but as ``<skipped>`` where it failed: it does not count.
"""

from __future__ import annotations

import datetime
import xml.etree.ElementTree as ET

from pytest_dra.report.document import DISCLAIMER
from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import plain
from pytest_dra.report.redaction import redacted
from pytest_dra.report.remedies import remedy
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.telling import failure_text
from pytest_dra.report.verdict import Summary

TEXT_LIMIT = 16_384
"""Characters of the text of one test case: viewers load the whole file at once."""

SUITE = "pytest-dra"

SKIPPED = frozenset({State.WAIVED, State.UNSUPPORTED_ENVIRONMENT, State.NOT_RUN})


def render(run: RunResult, summary: Summary) -> str:
    """The XML text of a run's results, in the order of the case ids."""
    suite = ET.Element("testsuite", {"name": SUITE, "hostname": "localhost"})
    _properties(
        suite,
        {
            "driver": run.driver,
            "launched": run.launched,
            "kubernetes": run.kubernetes,
            "depth": run.depth.value,
            "cluster": run.cluster,
            "verdict": summary.overall.verdict.value,
            "verdictOf": summary.overall.name,
            "disclaimer": DISCLAIMER,
        },
    )
    for result in run.results:
        suite.append(_case(result))
    tally = {
        "tests": str(len(run.results)),
        "failures": str(len(suite.findall("testcase/failure"))),
        "errors": str(len(suite.findall("testcase/error"))),
        "skipped": str(len(suite.findall("testcase/skipped"))),
        "time": f"{run.duration_s:.3f}",
        "timestamp": run.started.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S"),
    }
    suite.attrib.update(tally)
    suites = ET.Element("testsuites", {"name": SUITE})
    suites.append(suite)
    ET.indent(suites)
    text = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _case(result: CaseResult) -> ET.Element:
    case = result.case
    element = ET.Element(
        "testcase",
        {
            "classname": f"{SUITE}.{case.area}",
            "name": result.name,
            "time": f"{result.duration_s:.3f}",
        },
    )
    properties = {
        "level": case.level.value,
        "state": result.state.value,
        "title": case.title,
        "profiles": " ".join(case.profiles),
    }
    if result.reason:
        properties["reason"] = result.reason
    if result.provisional:
        properties["provisional"] = "true"
    _properties(element, properties)
    _outcome(element, result)
    if result.notes:
        ET.SubElement(element, "system-out").text = _text("\n".join(result.notes))
    return element


def _outcome(element: ET.Element, result: CaseResult) -> None:
    """Add the element that says how the case ended; nothing for one that passed."""
    if result.state is State.FAILED:
        where = result.finding.where if result.finding else result.case.title
        if result.provisional:
            tag, message = "skipped", f"provisional, not counted: {where}"
        else:
            tag, message = "failure", where
        found = ET.SubElement(element, tag, {"message": _line(message), "type": "Violation"})
        found.text = _text(failure_text(result))
    elif result.state is State.ERRORED:
        last = redacted(result.error).strip().rpartition("\n")[2] or "errored"
        found = ET.SubElement(element, "error", {"message": _line(last), "type": "SuiteError"})
        found.text = _text(result.error)
    elif result.state in SKIPPED:
        message = f"{result.state.value}: {result.reason}"
        found = ET.SubElement(element, "skipped", {"message": _line(message), "type": SUITE})
        found.text = _text(remedy(result))


def _properties(element: ET.Element, properties: dict[str, str]) -> None:
    parent = ET.SubElement(element, "properties")
    for name, value in properties.items():
        ET.SubElement(parent, "property", {"name": name, "value": _line(value)})


def _line(text: str) -> str:
    return one_line(redacted(text))


def _text(text: str) -> str:
    return plain(redacted(text), TEXT_LIMIT)
