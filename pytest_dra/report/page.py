"""What ``report.html`` shows, arranged from a report's data; the templates only lay it out."""

from __future__ import annotations

import dataclasses
import json
import re
import urllib.parse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.catalogue import catalogue
from pytest_dra.report import behaviours
from pytest_dra.report.nodes import ways
from pytest_dra.report.plain import case_name
from pytest_dra.report.results import ENDED_BEFORE
from pytest_dra.report.results import State
from pytest_dra.report.steps import Party
from pytest_dra.report.terminal import ended_early
from pytest_dra.report.verdict import LACKING
from pytest_dra.spec import Case
from pytest_dra.spec import Json
from pytest_dra.spec import Level

OPEN_FAILURES = 12
"""Failures that stand open; of more only the headings do, so that all can be overlooked."""

STATE_SIGNS = {
    State.PASSED: "✓",
    State.FAILED: "✗",
    State.ERRORED: "!",
    State.WAIVED: "~",
    State.UNSUPPORTED_ENVIRONMENT: "?",
    State.NOT_RUN: "○",
    State.NOT_APPLICABLE: "-",
}
"""A sign beside the word: colour alone tells nothing to some, nor on paper."""

VERDICT_SIGNS = {
    "conformant": "✓",
    "partial": "◐",
    "non-conformant": "✗",
    "inconclusive": "?",
}

BAD = frozenset({State.FAILED, State.ERRORED})

KEP = re.compile(r"\bK(\d{3,5})\b")
"""How sources of the catalogue name a Kubernetes enhancement proposal."""

KEP_PLACE = "https://kep.k8s.io/{}"

LANES = {party.value: number for number, party in enumerate(Party)}


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Cases that were not judged for the same reason."""

    state: str
    reason: str
    remedy: str
    cases: Sequence[Json]

    @property
    def musts(self) -> int:
        """How many of them are MUST."""
        return sum(each["level"] == Level.MUST.value for each in self.cases)


@dataclasses.dataclass(frozen=True, slots=True)
class AreaRows:
    """The cases of one area, with the number in each state that occurs."""

    name: str
    title: str
    cases: Sequence[Json]

    @property
    def tally(self) -> list[tuple[str, int]]:
        """State and number, worst first as in the list of states."""
        states = [each["state"] for each in self.cases]
        return [
            (state.value, states.count(state.value)) for state in State if state.value in states
        ]

    @property
    def bad(self) -> bool:
        """One of them failed or errored."""
        return any(each["state"] in BAD for each in self.cases)


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A report with what the page asks of it."""

    data: Json

    @property
    def bad(self) -> list[Json]:
        """Failed and errored cases that count, MUST before SHOULD before MAY."""
        order = [level.value for level in Level]
        found = [
            each for each in self.data["cases"] if each["state"] in BAD and not each["provisional"]
        ]
        return sorted(found, key=lambda each: order.index(each["level"]))

    @property
    def groups(self) -> list[Group]:
        """What was not judged, grouped by state and reason; those with a MUST first."""
        remedies = {each["case"]: each["remedy"] for each in self.data["missing"]}
        found: dict[tuple[str, str], list[Json]] = {}
        for each in self.data["cases"]:
            if each["state"] in LACKING and not each["provisional"]:
                found.setdefault((each["state"], each["reason"]), []).append(each)
        groups = [
            Group(
                state,
                reason,
                next(filter(None, (remedies.get(case_name(c)) for c in cases)), ""),
                cases,
            )
            for (state, reason), cases in found.items()
        ]
        return sorted(groups, key=lambda each: (each.musts == 0, each.state, each.reason))

    @property
    def early(self) -> str:
        """That the run ended before it had judged everything; empty if it did not."""
        left = sum(each.get("reason") == ENDED_BEFORE for each in self.data["cases"])
        return ended_early(left) if left else ""

    @property
    def nodes(self) -> list[tuple[Json, list[str]]]:
        """Nodes of a cluster that was judged node by node, and how they differ; odd ones first."""
        found = [(each, ways(each)) for each in self.data.get("nodes", ())]
        return sorted(found, key=lambda each: each[0]["reported"] and not each[1])

    @property
    def provisional(self) -> list[Json]:
        """Cases of features that were seen and not declared."""
        return [each for each in self.data["cases"] if each["provisional"]]

    @property
    def behaviours(self) -> list[tuple[str, str, str, Mapping[str, str]]]:
        """Number, text, state and cases of each behaviour of kubernetes/enhancements#5970."""
        return list(behaviours.rows(self.data))

    @property
    def remarks(self) -> list[tuple[str, str]]:
        """Warnings, with the case that has them."""
        return [
            (case_name(each), note) for each in self.data["cases"] for note in each.get("notes", ())
        ]

    @property
    def areas(self) -> list[AreaRows]:
        """All cases by area, in the order of the catalogue; unknown areas at the end."""
        known = catalogue().areas
        found: dict[str, list[Json]] = {name: [] for name in known}
        for each in self.data["cases"]:
            found.setdefault(each["area"], []).append(each)
        return [
            AreaRows(name, known[name].title if name in known else "", cases)
            for name, cases in found.items()
            if cases
        ]

    @property
    def profile_text(self) -> str:
        """The driver's profile, readable."""
        profile = self.data["profile"]
        return json.dumps(profile, indent=2, ensure_ascii=False) if profile else ""

    @property
    def musts(self) -> tuple[int, int]:
        """Passed and applicable MUST cases of the profile that decides."""
        return musts_of(self.data)


def musts_of(data: Json) -> tuple[int, int]:
    """Passed and applicable MUST cases of the conformance profile whose verdict is the report's."""
    name = data["verdictOf"]["profile"]
    judged = next((each for each in data["profiles"] if each["name"] == name), None)
    states = (judged or data)["counts"][Level.MUST.value]
    applicable = sum(states.values()) - states[State.NOT_APPLICABLE.value]
    return states[State.PASSED.value], applicable


def known_case(id: str) -> Case | None:
    """The case as this suite knows it; a report may come from another version."""
    return catalogue().cases.get(id)


def linked(text: str) -> Iterable[tuple[str, str]]:
    """A source in pieces, each with the address that it stands for, or an empty one."""
    end = 0
    for found in KEP.finditer(text):
        yield text[end : found.start()], ""
        yield found.group(), KEP_PLACE.format(found.group(1))
        end = found.end()
    yield text[end:], ""


def web_address(text: str) -> str:
    """The text if it is an address that a browser may be sent to; empty otherwise."""
    try:
        parts = urllib.parse.urlsplit(text)
        plausible = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        return ""
    return text if plausible and not set(text) & set(" \n\t\"'<>\\") else ""
