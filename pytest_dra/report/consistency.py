"""Whether a report agrees with itself: what it counts and concludes follows from its cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping

from pytest_dra.catalogue import catalogue
from pytest_dra.report import nodes
from pytest_dra.report.checksum import FIELD
from pytest_dra.report.checksum import checksum
from pytest_dra.report.plain import case_name
from pytest_dra.report.results import State
from pytest_dra.report.verdict import LACKING
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import counting
from pytest_dra.report.verdict import depth_for
from pytest_dra.report.verdict import verdict_of
from pytest_dra.report.verdict import worst
from pytest_dra.spec import Json
from pytest_dra.spec import Level

Place = tuple[str | int, ...]

LISTS = {
    "failed": State.FAILED,
    "errored": State.ERRORED,
    "waived": State.WAIVED,
    "unsupportedEnvironment": State.UNSUPPORTED_ENVIRONMENT,
    "notRun": State.NOT_RUN,
    "notApplicable": State.NOT_APPLICABLE,
}
"""Field of a judgement, and the state of the cases that it lists."""

NOT_GOOD = frozenset({Verdict.INCONCLUSIVE.value, Verdict.NON_CONFORMANT.value})
"""What may be said of a cluster while a node of it has no report."""

CLAIMS_NOTHING = frozenset({Verdict.INCONCLUSIVE.value})
"""What a profile may say whatever its cases did: they were judged at too low a depth."""


def contradictions(data: Json) -> Iterator[tuple[Place, str]]:
    """Where a report that has the form of the schema contradicts itself.

    Yields:
        The path of a value, and what is wrong with it.
    """
    yield from _cases(data)
    yield from _counts(data)
    for number, each in enumerate(data["profiles"]):
        yield from _judgement(data, each, ("profiles", number))
    states = _states(data)
    for number, each in enumerate(data["features"]["verdicts"]):
        yield from _listed(states, each, ("features", "verdicts", number))
    yield from _overall(data)
    yield from _missing(data)
    yield from _nodes(data)
    wanted = checksum(data)
    if data[FIELD] != wanted:
        yield (FIELD,), f"the report was changed after it was written: its data have {wanted}"


def _cases(data: Json) -> Iterator[tuple[Place, str]]:
    known, seen = catalogue(), set()
    same = data["catalogue"]["hash"] == known.hash
    for number, each in enumerate(data["cases"]):
        name = (each["id"], each.get("parameter", ""))
        if name in seen:
            yield ("cases", number), f"{each['id']} stands there twice"
        seen.add(name)
        case = known.cases.get(each["id"])
        if same and case is None:
            yield ("cases", number, "id"), f"the catalogue has no case {each['id']}"
        elif same and case is not None and each["level"] != case.level.value:
            yield ("cases", number, "level"), f"{case.id} is a {case.level.value}"


def _states(data: Json, profile: str | None = None) -> dict[str, tuple[Level, State]]:
    """Level and state of each case that counts, of all or of one conformance profile."""
    known = catalogue().profiles
    depth = depth_for(profile) if profile is not None and profile in known else None
    found: dict[str, list[Json]] = {}
    for each in data["cases"]:
        if not each["provisional"] and (profile is None or profile in each["profiles"]):
            found.setdefault(each["id"], []).append(each)
    return {
        id_: (
            Level(cases[0]["level"]),
            counting(((each.get("parameter", ""), State(each["state"])) for each in cases), depth),
        )
        for id_, cases in found.items()
    }


def _tally(states: Mapping[str, tuple[Level, State]]) -> Json:
    pairs = list(states.values())
    return {
        level.value: {state.value: pairs.count((level, state)) for state in State}
        for level in Level
    }


def _counts(data: Json) -> Iterator[tuple[Place, str]]:
    yield from _differing(("counts",), data["counts"], _tally(_states(data)))


def _differing(place: Place, got: Json, want: Json) -> Iterator[tuple[Place, str]]:
    for level, states in want.items():
        for state, number in states.items():
            if got[level][state] != number:
                yield (
                    (*place, level, state),
                    f"{got[level][state]}, but {number} of the cases are {state}",
                )


def _judgement(data: Json, judged: Json, place: Place) -> Iterator[tuple[Place, str]]:
    states = _states(data, judged["name"])
    yield from _differing((*place, "counts"), judged["counts"], _tally(states))
    yield from _listed(states, judged, place)
    if judged["verdict"] in CLAIMS_NOTHING or not judged["applies"]:
        return
    verdict, reason = verdict_of(
        {id_: level for id_, (level, _) in states.items()},
        {id_: state for id_, (_, state) in states.items()},
    )
    if judged["verdict"] != verdict.value:
        yield (
            (*place, "verdict"),
            f"{judged['verdict']}, but its cases make it {verdict.value}: {reason}",
        )


def _listed(
    states: Mapping[str, tuple[Level, State]], judged: Json, place: Place
) -> Iterator[tuple[Place, str]]:
    """The lists of ids of a judgement name cases in just that state."""
    for field, state in LISTS.items():
        for number, id_ in enumerate(judged[field]):
            if id_ not in states or states[id_][1] is not state:
                yield (*place, field, number), f"{id_} is not {state.value} among the cases"
        total = sum(each[state.value] for each in judged["counts"].values())
        if len(judged[field]) != total:
            yield (*place, field), f"{len(judged[field])} cases, but {total} are counted"


def _overall(data: Json) -> Iterator[tuple[Place, str]]:
    name = data["verdictOf"]["profile"]
    judged = next((each for each in data["profiles"] if each["name"] == name), None)
    if judged is None:
        yield ("verdictOf", "profile"), f"the report does not judge {name}"
    elif judged["verdict"] != data["verdict"]:
        yield ("verdict",), f"{data['verdict']}, but {name} is {judged['verdict']}"


def _missing(data: Json) -> Iterator[tuple[Place, str]]:
    states = {case_name(each): each["state"] for each in data["cases"]}
    listed = {each["case"] for each in data["missing"]}
    for number, each in enumerate(data["missing"]):
        if states.get(each["case"]) not in LACKING:
            yield ("missing", number), f"{each['case']} is not among the cases that were not judged"
    for number, each in enumerate(data["cases"]):
        lacks = each["level"] == Level.MUST.value and each["state"] in LACKING
        if lacks and not each["provisional"] and case_name(each) not in listed:
            yield (
                ("cases", number),
                f"{case_name(each)} was not judged and is not listed as missing",
            )


def _nodes(data: Json) -> Iterator[tuple[Place, str]]:
    """What is said of nodes follows from the cases that did not end alike on all of them."""
    every = data.get("nodes") or []
    spreads = {case_name(each): each["nodes"] for each in data["cases"] if "nodes" in each}
    told = nodes.differences(spreads)
    for number, each in enumerate(every):
        wanted = [dataclasses.asdict(one) for one in told.pop(each["name"], ())]
        if each["differs"] != wanted:
            yield ("nodes", number, "differs"), f"{each['name']} differs otherwise by the cases"
        if not each["reported"] and data["verdict"] not in NOT_GOOD:
            yield ("verdict",), f"{data['verdict']}, though no report came of {each['name']}"
    for name in told:
        yield ("nodes",), f"{name} differs by the cases and is not among the nodes"
    for number, each in enumerate(data["cases"]):
        states = [State(state) for state in each.get("nodes", ())]
        if states and worst(states) is not State(each["state"]):
            yield ("cases", number, "state"), f"{each['state']}, the worst of its nodes is another"
