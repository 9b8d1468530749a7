"""The seven behaviours of kubernetes/enhancements#5970, and what this suite says of them.

That proposal looks at a live cluster and at objects only. Each behaviour is judged here by a case
at cluster depth, and where there is one by a narrower case below it, which a run at wire depth has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.spec import Json

ELSEWHERE: Final = "other-depth"
"""What stands for a case that a run of this depth does not have."""

WORST: Final = (State.ERRORED, State.FAILED, *(each for each in State if each != State.PASSED))
"""States that decide about a behaviour whatever its other cases say, the worst first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Behaviour:
    """``text``: in our words. ``cases``: the ids that judge it."""

    text: str
    cases: tuple[str, ...]


BEHAVIOURS: Final[Mapping[str, Behaviour]] = MappingProxyType(
    {
        "1": Behaviour("the plugin is registered with the kubelet", ("REG-001", "LIFE-001")),
        "2": Behaviour("a slice with a device is published", ("SLICE-001", "LIFE-001")),
        "3": Behaviour("a claim of the class is allocated", ("LIFE-001",)),
        "4": Behaviour("its pod gets past the preparation", ("PREP-001", "LIFE-001")),
        "5": Behaviour("the pod runs and sees the device", ("LIFE-001", "SHARE-001")),
        "6": Behaviour("the pod ends, its claim is unprepared", ("LIFE-002", "LIFE-001")),
        "7": Behaviour("a second pod gets the device again", ("UNP-005", "SHARE-001")),
    }
)
"""By their numbers. Environment variables, which the fifth one looks for there, are one way of many
to show a device; the second pod of the seventh is pinned to the device of the first one here."""


def states_of(run: RunResult) -> dict[str, dict[str, str]]:
    """By number: the cases of each behaviour and their states in a run, the worst of several."""
    states: dict[str, list[str]] = {}
    for each in run.results:
        states.setdefault(each.case.id, []).append(each.state.value)
    return {
        number: {id: worst_of(states.get(id, ())) for id in each.cases}
        for number, each in BEHAVIOURS.items()
    }


def worst_of(states: Iterable[str]) -> str:
    """What the states of its cases say of a behaviour: the worst one of those that the run has."""
    found = [each for each in states if each != ELSEWHERE]
    bad = [state.value for state in WORST if state.value in found]
    return next(iter([*bad, *found]), ELSEWHERE)


def rows(data: Json) -> Iterator[tuple[str, str, str, Mapping[str, str]]]:
    """Number, text, verdict and cases of each behaviour in a report's data."""
    for number, cases in data["behaviours5970"].items():
        known = BEHAVIOURS.get(number)
        yield number, known.text if known else "", worst_of(cases.values()), cases


def line_of(run: RunResult) -> str:
    """All seven in one line."""
    told = (f"{number} {worst_of(cases.values())}" for number, cases in states_of(run).items())
    return f"enhancements#5970: {', '.join(told)}"
