"""One run made of the reports of its shards, each of which has judged one node of a cluster."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
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
from pytest_dra.report.plain import case_name
from pytest_dra.report.plain import one_line
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import Report
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import Finding
from pytest_dra.report.results import Option
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.steps import Step
from pytest_dra.report.verdict import WORST_FIRST
from pytest_dra.spec import Depth
from pytest_dra.spec import Json

NODE_OPTION: Final = "--dra-node"
"""What tells the shards of a run apart, and goes when they are one."""

SWITCH: Final = {"true": True, "false": False}
"""How values of switches stand in a report."""

SAME: Final[Mapping[str, Callable[[Json], object]]] = {
    "driver": lambda data: data["driver"]["name"],
    "Kubernetes": lambda data: data["environment"]["kubernetes"],
    "depth": lambda data: data["environment"]["depth"],
    "catalogue": lambda data: data["catalogue"]["hash"],
    "version of pytest-dra": lambda data: data["environment"]["versions"].get("pytest-dra", ""),
    "profile of the driver": lambda data: data["profile"],
}
"""What the shards of one run have in common."""


def node_of(report: Report) -> str:
    """The node that a report is of.

    Raises:
        BadReport: it is of none.
    """
    name = report.raw["environment"].get("node", "")
    if not name:
        raise BadReport(f"{report.file}: not of one node of a cluster: made without {NODE_OPTION}")
    return str(name)


def merged(reports: Iterable[Report], *, expected: Iterable[str] = ()) -> RunResult:
    """One run of all shards: each case with its worst state, and what came of each node.

    Args:
        reports: one or more, each of another node.
        expected: names of all nodes that there should be reports of.

    Raises:
        BadReport: two are of one node, one was changed, or they are not shards of one run.
    """
    by_node: dict[str, Report] = {}
    for report in reports:
        name = node_of(report)
        if name in by_node:
            raise BadReport(f"{report.file}: of node {name}, as {by_node[name].file} is")
        by_node[name] = report
        _must_be_as_written(report)
    known = {name: by_node[name].data for name in sorted(by_node)}
    _must_be_of_one_run(by_node, known)
    first = next(iter(known.values()))
    if first["catalogue"]["hash"] != catalogue().hash:
        raise BadReport("the reports are of another version of pytest-dra: merge them with that")
    results = [_results(data) for data in known.values()]
    nodes = [_node(name, known.get(name)) for name in sorted({*known, *expected})]
    started, seconds = _time(list(known.values()))
    return RunResult(
        driver=first["driver"]["name"],
        launched=first["driver"]["launched"],
        kubernetes=first["environment"]["kubernetes"],
        depths=tuple(Depth(each) for each in _depths(first)),
        cluster=first["environment"]["cluster"],
        implemented={each.case.id: each.case for each in results[0].values()},
        results=tuple(_worst(results)),
        started=started,
        duration_s=seconds,
        profile=_profile(first),
        options=tuple(_options(first)),
        versions=first["environment"]["versions"],
        catalogue=first["catalogue"]["hash"],
        nodes=tuple(nodes),
    )


def _must_be_as_written(report: Report) -> None:
    wrong = next(contradictions(report.raw), None)
    if wrong is not None:
        raise BadReport(report.told(*wrong))


def _must_be_of_one_run(reports: Mapping[str, Report], known: Mapping[str, Json]) -> None:
    first = next(iter(known))
    for what, of in SAME.items():
        for name, data in known.items():
            if of(data) != of(known[first]):
                raise BadReport(
                    f"{reports[name].file}: node {name} has another {what} than node {first}: "
                    "no shards of one run"
                )


def _depths(data: Json) -> Sequence[str]:
    environment = data["environment"]
    return environment.get("depths") or [environment["depth"]]


def _node(name: str, data: Json | None) -> NodeResult:
    if data is None:
        return NodeResult(name=name)
    states = {case_name(each): str(each["state"]) for each in data["cases"]}
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


def _worst(shards: Sequence[Mapping[str, CaseResult]]) -> Iterable[CaseResult]:
    """Of each case that of the first node on which it is worst; it took as long as the longest."""
    for name in sorted({name for shard in shards for name in shard}):
        every = [shard[name] for shard in shards if name in shard]
        worst = min(every, key=lambda each: WORST_FIRST.index(each.state))
        yield dataclasses.replace(
            worst,
            provisional=any(each.provisional for each in every),
            notes=tuple(dict.fromkeys(note for each in every for note in each.notes)),
            duration_s=max(each.duration_s for each in every),
        )


def _profile(data: Json) -> DriverProfile:
    """As much of the driver's profile as a report speaks of."""
    identity = dict(data["implementation"])
    identity.pop("missing")
    features = data["features"]
    scope: Any = (data["profile"].get("driver") or {}).get("scope", Scope.NODE)
    return dataclasses.replace(
        DEFAULT_PROFILE,
        data=data["profile"],
        identity=IdentityBlock(**{**identity, "contact": tuple(identity["contact"])}),
        driver=DriverBlock(name=data["driver"]["name"], scope=Scope(scope)),
        launch=LaunchBlock(hardware=Hardware(data["environment"]["hardware"])),
        features={
            **dict.fromkeys(features["declared"], True),
            **dict.fromkeys(features["undeclared"], False),
        },
    )


def _options(data: Json) -> Iterable[Option]:
    for each in data["options"]:
        if each["name"] != NODE_OPTION:
            value = each["value"]
            yield Option(name=each["name"], value=SWITCH.get(value, value), source=each["source"])


def _time(shards: Sequence[Json]) -> tuple[datetime.datetime, float]:
    """When the first of them began, and seconds until the last one ended."""
    began = [
        datetime.datetime.strptime(each["startedAt"], "%Y-%m-%dT%H:%M:%SZ").replace(
            tzinfo=datetime.timezone.utc
        )
        for each in shards
    ]
    ends = [
        start + datetime.timedelta(seconds=each["durationSeconds"])
        for start, each in zip(began, shards, strict=True)
    ]
    return min(began), (max(ends) - min(began)).total_seconds()
