"""One run made of the reports of its shards, each of which has judged one node of a cluster."""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Hardware
from pytest_dra.profile import Scope
from pytest_dra.profile.model import DriverBlock
from pytest_dra.profile.model import IdentityBlock
from pytest_dra.profile.model import LaunchBlock
from pytest_dra.report.consistency import contradictions
from pytest_dra.report.document import SECONDS_DIGITS
from pytest_dra.report.nodes import NodeResult
from pytest_dra.report.nodes import no_name
from pytest_dra.report.plain import case_name
from pytest_dra.report.plain import one_line
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import Report
from pytest_dra.report.remedies import NODE_OPTION
from pytest_dra.report.results import NOTES_LIMIT
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import Finding
from pytest_dra.report.results import Option
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.results import not_run
from pytest_dra.report.steps import Step
from pytest_dra.report.verdict import WORST_FIRST
from pytest_dra.spec import Depth
from pytest_dra.spec import Json

SWITCH: Final = {"true": True, "false": False}
"""How values of switches stand in a report."""

SAME: Final[Mapping[str, Callable[[Json], object]]] = {
    "driver": lambda data: data["driver"]["name"],
    "Kubernetes": lambda data: data["environment"]["kubernetes"],
    "depth": lambda data: (data["environment"]["depth"], data["environment"].get("depths")),
    "catalogue": lambda data: data["catalogue"]["hash"],
    "version of pytest-dra": lambda data: data["environment"]["versions"].get("pytest-dra", ""),
    "profile of the driver": lambda data: data["profile"],
    "identity of the driver": lambda data: data["implementation"],
    "set of features": lambda data: [data["features"][each] for each in ("declared", "undeclared")],
    "hardware": lambda data: data["environment"]["hardware"],
}
"""What the shards of one run have in common: one of them speaks for all."""

NODES_LIMIT: Final = 100_000
"""Nodes of one run: more than any cluster has."""

NOTES_MAX: Final = NOTES_LIMIT - 1
"""Notes of a case: each node may have one of its own, with a number in it. One says that."""

MORE_NOTES: Final = "more notes stand in the reports of single nodes"
ABSENT: Final = "the report of a node says nothing of it"


def node_of(report: Report) -> str:
    """The node that a report is of.

    Raises:
        BadReport: it is of none.
    """
    name = str(report.raw["environment"].get("node", ""))
    if not name:
        raise BadReport(f"{report.file}: not of one node of a cluster: made without {NODE_OPTION}")
    if wrong := no_name(name):
        raise BadReport(report.told(("environment", "node"), wrong))
    return name


def merged(reports: Iterable[Report], *, expected: Iterable[str] = ()) -> RunResult:
    """One run of all shards: each case with its worst state, and what came of each node.

    Args:
        reports: one or more, each of another node; none is kept when the next one is taken.
        expected: names of all nodes that there should be reports of.

    Raises:
        BadReport: two are of one node, one was changed, or they are not shards of one run.
    """
    found = _Together()
    for report in reports:
        found.add(report)
    head = found.head()
    results = found.results()
    silent = [NodeResult(name=name) for name in sorted({*expected} - found.nodes.keys())]
    if len(silent) + len(found.nodes) > NODES_LIMIT:
        raise BadReport(f"more than {NODES_LIMIT} nodes")
    return RunResult(
        driver=head["driver"]["name"],
        launched=head["driver"]["launched"],
        kubernetes=head["environment"]["kubernetes"],
        depths=tuple(Depth(each) for each in _depths(head)),
        cluster=head["environment"]["cluster"],
        implemented={each.case.id: each.case for each in results},
        results=results,
        started=found.began,
        duration_s=(found.ended - found.began).total_seconds(),
        profile=_profile(head, found.scope),
        options=tuple(_options(head)),
        versions=head["environment"]["versions"],
        catalogue=head["catalogue"]["hash"],
        nodes=tuple(sorted([*found.nodes.values(), *silent], key=lambda each: each.name)),
    )


class _Together:
    """What is kept of shards, of which there may be thousands; a report is large."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeResult] = {}
        self.began = self.ended = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)
        self.scope = Scope.NODE
        self._files: dict[str, str] = {}
        self._heads: dict[str, Json] = {}
        self._worst: dict[str, tuple[int, str, CaseResult]] = {}
        self._notes: dict[str, dict[str, None]] = {}

    def add(self, report: Report) -> None:
        """Take one. Raises BadReport."""
        name = node_of(report)
        if name in self._files:
            raise BadReport(f"{report.file}: of node {name}, as {self._files[name]} is")
        if len(self._files) == NODES_LIMIT:
            raise BadReport(f"{report.file}: more than {NODES_LIMIT} nodes")
        _must_be_as_written(report)
        data = report.data
        began, ended = _time(report)
        self.began = min(self.began, began)
        self.ended = max(self.ended, ended) if self._files else ended
        self.scope = _scope(report)
        self._files[name] = report.file
        self._look_at(name, {key: data[key] for key in data if key != "cases"})
        results = _results(data)
        for each, result in results.items():
            self._judge(each, name, result)
        self.nodes[name] = _node(name, data, results)

    def _look_at(self, name: str, head: Json) -> None:
        """Hold what a shard says of the whole against another one; the first by name is kept."""
        for other, known in self._heads.items():
            for what, of in SAME.items():
                if of(head) != of(known):
                    raise BadReport(
                        f"{self._files[name]}: node {name} has another {what} than node {other}: "
                        "no shards of one run"
                    )
            if other < name:
                return
        self._heads = {name: head}

    def _judge(self, case: str, node: str, result: CaseResult) -> None:
        """Keep of each case the worst result, of the first node that has it, and all notes."""
        notes = self._notes.setdefault(case, {})
        for note in result.notes:
            if len(notes) <= NOTES_MAX:
                notes[note] = None
        made = (WORST_FIRST.index(result.state), node, result)
        known = self._worst.get(case)
        if known is None:
            self._worst[case] = made
            return
        better, worse = sorted((known, made), key=lambda each: each[:2], reverse=True)
        self._worst[case] = (
            *worse[:2],
            dataclasses.replace(
                worse[2],
                provisional=better[2].provisional or worse[2].provisional,
                duration_s=max(better[2].duration_s, worse[2].duration_s),
            ),
        )

    def head(self) -> Json:
        """What the shards say of the whole, without their cases.

        Raises:
            BadReport: there are none, or this suite does not know their cases.
        """
        head = next(iter(self._heads.values()), None)
        if head is None:
            raise BadReport("no report of any node")
        if head["catalogue"]["hash"] != catalogue().hash:
            raise BadReport("the reports are of another version of pytest-dra: merge with that")
        return head

    def results(self) -> tuple[CaseResult, ...]:
        """Each case once. What a shard does not speak of has not run on its node."""
        for case, (_, _, known) in sorted(self._worst.items()):
            for node in self.nodes.values():
                if case not in node.states:
                    gone = not_run(known.case, ABSENT, parameter=known.parameter)
                    self._judge(case, node.name, gone)
                    node.states[case] = gone.state.value
        return tuple(
            dataclasses.replace(result, notes=self._noted(case))
            for case, (_, _, result) in sorted(self._worst.items())
        )

    def _noted(self, case: str) -> tuple[str, ...]:
        notes = list(self._notes[case])
        return (*notes[:NOTES_MAX], *([MORE_NOTES] if len(notes) > NOTES_MAX else []))


def _must_be_as_written(report: Report) -> None:
    wrong = next(contradictions(report.raw), None)
    if wrong is not None:
        raise BadReport(report.told(*wrong))


def _depths(data: Json) -> Sequence[str]:
    environment = data["environment"]
    return environment.get("depths") or [environment["depth"]]


def _node(name: str, data: Json, results: Mapping[str, CaseResult]) -> NodeResult:
    states = {sys.intern(case): each.state.value for case, each in results.items()}
    reason = data["verdictOf"]["reason"]
    return NodeResult(name=name, verdict=data["verdict"], reason=reason, states=states)


def _results(data: Json) -> dict[str, CaseResult]:
    """The cases of a report, by name."""
    remedies = {each["case"]: each["remedy"] for each in data["missing"]}
    return {
        case_name(each): _result(each, remedies.get(case_name(each), "")) for each in data["cases"]
    }


def _result(case: Json, remedy: str) -> CaseResult:
    finding = None
    if case["state"] == State.FAILED.value:
        finding = Finding(
            where=case["where"], got=case["got"], want=case["want"], source=case["from"]
        )
    try:
        known = catalogue().case(case["id"])
    except KeyError as error:
        raise BadReport(one_line(str(error))) from error
    return CaseResult(
        case=known,
        state=State(case["state"]),
        reason=case.get("reason", ""),
        remedy=remedy,
        provisional=case["provisional"],
        finding=finding,
        error=case.get("error", ""),
        excerpt=tuple(case.get("timeline", ())),
        steps=tuple(Step.from_dict(each) for each in case.get("sequence", ())),
        notes=tuple(case.get("notes", ())),
        duration_s=round(case["durationSeconds"], SECONDS_DIGITS),
        parameter=case.get("parameter", ""),
    )


def _scope(report: Report) -> Scope:
    block = report.raw["profile"].get("driver", {})
    try:
        return Scope(block.get("scope", Scope.NODE))
    except (AttributeError, ValueError) as error:
        place = ("profile", "driver", "scope")
        raise BadReport(report.told(place, "of no profile: want node, cluster or both")) from error


def _profile(data: Json, scope: Scope) -> DriverProfile:
    """As much of the driver's profile as a report speaks of."""
    identity = dict(data["implementation"])
    identity.pop("missing")
    features = data["features"]
    return dataclasses.replace(
        DEFAULT_PROFILE,
        data=data["profile"],
        identity=IdentityBlock(**{**identity, "contact": tuple(identity["contact"])}),
        driver=DriverBlock(name=data["driver"]["name"], scope=scope),
        launch=LaunchBlock(hardware=Hardware(data["environment"]["hardware"])),
        features={
            **dict.fromkeys(features["declared"], True),
            **dict.fromkeys(features["undeclared"], False),
        },
    )


def _options(data: Json) -> Iterable[Option]:
    """Those of the shards, without what tells them apart."""
    for each in data["options"]:
        if each["name"] != NODE_OPTION:
            value = each["value"]
            yield Option(name=each["name"], value=SWITCH.get(value, value), source=each["source"])


def _time(report: Report) -> tuple[datetime.datetime, datetime.datetime]:
    """When a shard began and ended."""
    data = report.raw
    try:
        began = datetime.datetime.strptime(data["startedAt"], "%Y-%m-%dT%H:%M:%SZ").replace(
            tzinfo=datetime.timezone.utc
        )
        return began, began + datetime.timedelta(seconds=data["durationSeconds"])
    except (ValueError, OverflowError) as error:
        raise BadReport(report.told(("startedAt",), "no time at which a run can be")) from error
