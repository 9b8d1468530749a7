"""From states to verdicts: what a run allows to be said about a driver.

The rules are those of the catalogue's section on results: an applicable MUST that failed makes a
conformance profile non-conformant, one that errored makes it inconclusive, one that did not run
makes it partial; SHOULD and MAY never change a verdict. Only cases that the suite implements
count, and provisional ones do not.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable
from collections.abc import Mapping
from types import MappingProxyType

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import Scope
from pytest_dra.report.nodes import named
from pytest_dra.report.plain import spelled_ids
from pytest_dra.report.results import AT_CLUSTER
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.spec import Case
from pytest_dra.spec import Depth
from pytest_dra.spec import Level

STATIC = "STATIC"
NODE_CORE = "NODE-CORE"
CONTROLLER = "CONTROLLER"
CLUSTER_CORE = "CLUSTER-CORE"
EXTENDED = "EXTENDED"

AT_WIRE = "judged at wire depth, with a driver that runs (--dra-driver=exec:COMMAND)"

DEPTH_REMEDY = {
    Depth.STATIC: AT_WIRE,
    Depth.WIRE: AT_WIRE,
    Depth.CLUSTER: "judged at cluster depth (--dra-cluster=kind or kubeconfig:CONTEXT)",
}

WORST_FIRST = (
    State.FAILED,
    State.ERRORED,
    State.NOT_RUN,
    State.UNSUPPORTED_ENVIRONMENT,
    State.WAIVED,
    State.PASSED,
    State.NOT_APPLICABLE,
)
"""Of several results of one case, the state that comes first here is the state of the case."""

LACKING = frozenset({State.NOT_RUN, State.UNSUPPORTED_ENVIRONMENT, State.WAIVED})
"""States of an applicable case that nobody judged."""


NAMED_IDS = 10
"""More cases that were not judged are only counted; a run of a few selected ones leaves many."""


class Verdict(str, enum.Enum):
    """What is said about one conformance profile."""

    CONFORMANT = "conformant"
    PARTIAL = "partial"
    NON_CONFORMANT = "non-conformant"
    INCONCLUSIVE = "inconclusive"


BEST_FIRST = (
    Verdict.CONFORMANT,
    Verdict.PARTIAL,
    Verdict.INCONCLUSIVE,
    Verdict.NON_CONFORMANT,
)
"""Of a run at two depths the worse verdict stands at the top."""

Counts = Mapping[Level, Mapping[State, int]]
"""How many cases of each level ended in each state; every pair is there."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict of a conformance profile, or of one feature of EXTENDED.

    Attributes:
        name: of the profile or feature.
        depth: at which it is judged.
        applies: False where the profile does not concern this kind of driver.
        reason: one clause with the numbers or ids that decided.
        states: of each case that counts, by id.
    """

    name: str
    depth: Depth
    verdict: Verdict
    applies: bool
    reason: str
    states: Mapping[str, State]
    counts: Counts

    def ids(self, *states: State) -> tuple[str, ...]:
        """The cases that ended in one of these states, sorted."""
        return tuple(sorted(id_ for id_, state in self.states.items() if state in states))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All that is judged of a run.

    ``overall`` is the top-level verdict: NODE-CORE's, or CONTROLLER's for a driver without a
    kubelet plugin; STATIC's where only objects were judged, CLUSTER-CORE's on a whole cluster, and
    the worse one of both where the run judged at both depths.
    ``features`` are the declared features that have cases here.
    """

    overall: Judgement
    profiles: tuple[Judgement, ...]
    features: tuple[Judgement, ...]
    counts: Counts


def verdict_of(levels: Mapping[str, Level], states: Mapping[str, State]) -> tuple[Verdict, str]:
    """The verdict of a set of cases, and the clause that explains it.

    Args:
        levels: of each case, by id.
        states: of each case, by id; the same ids.
    """
    musts = {id_: states[id_] for id_, level in levels.items() if level is Level.MUST}
    applicable = {id_: each for id_, each in musts.items() if each is not State.NOT_APPLICABLE}
    failed = _in(applicable, State.FAILED)
    errored = _in(applicable, State.ERRORED)
    lacking = _in(applicable, *LACKING)
    passed = _in(applicable, State.PASSED)
    of = f"of {len(applicable)} applicable MUST cases"
    if failed:
        return Verdict.NON_CONFORMANT, f"{len(failed)} {of} failed: {spelled_ids(failed)}"
    if errored:
        return Verdict.INCONCLUSIVE, f"{len(errored)} {of} errored: {spelled_ids(errored)}"
    if not passed:
        return Verdict.INCONCLUSIVE, "no MUST case ran"
    if lacking:
        ids = f": {spelled_ids(lacking)}" if len(lacking) <= NAMED_IDS else ""
        return Verdict.PARTIAL, f"{len(lacking)} {of} not judged{ids}"
    return Verdict.CONFORMANT, f"{len(passed)} {of} passed"


def summarise(run: RunResult) -> Summary:
    """Judge a run."""
    counted = _counted(run, None)
    profiles = tuple(_profile(run, name) for name in catalogue().profiles)
    by_name = {each.name: each for each in profiles}
    main = CONTROLLER if run.profile.driver.scope is Scope.CLUSTER else NODE_CORE
    if run.depth is Depth.STATIC:
        main = STATIC
    if run.depth is Depth.CLUSTER and main == NODE_CORE:
        both = [CLUSTER_CORE, *([NODE_CORE] if run.reaches(Depth.WIRE) else ())]
        main = max(both, key=lambda name: BEST_FIRST.index(by_name[name].verdict))
    return Summary(
        overall=by_name[main],
        profiles=profiles,
        features=tuple(_features(run, counted)),
        counts=counts_of(counted.values()),
    )


def counts_of(cases: Iterable[tuple[Case, State]]) -> Counts:
    """Count by level and state; pairs that do not occur are 0."""
    found = {level: dict.fromkeys(State, 0) for level in Level}
    for case, state in cases:
        found[case.level][state] += 1
    return MappingProxyType({level: MappingProxyType(each) for level, each in found.items()})


def worst(states: Iterable[State]) -> State:
    """The state that stands for several results of one case."""
    return min(states, key=WORST_FIRST.index)


def lacking_musts(run: RunResult) -> tuple[CaseResult, ...]:
    """The applicable MUST cases that were not judged, each with the reason and the remedy."""
    return tuple(
        each
        for each in run.results
        if each.case.level is Level.MUST
        and each.state in LACKING
        and each.case.id in run.implemented
        and not each.provisional
    )


def counting(results: Iterable[tuple[str, State]], depth: Depth | None) -> State:
    """The state of a case with several results.

    Args:
        results: parameter and state of each.
        depth: of the conformance profile for which it counts: what was judged there counts, where
            anything was. None: all of them count.
    """
    every = list(results)
    own = [each for each in every if (each[0] == AT_CLUSTER) is (depth is Depth.CLUSTER)]
    return worst(state for _, state in (own if own and depth is not None else every))


def depth_for(profile: str) -> Depth | None:
    """The depth whose results count for a conformance profile; None: those of all."""
    return None if profile == EXTENDED else catalogue().profiles[profile].depth


def _counted(run: RunResult, depth: Depth | None) -> dict[str, tuple[Case, State]]:
    found: dict[str, list[tuple[str, State]]] = {}
    for each in run.results:
        if each.case.id in run.implemented and not each.provisional:
            found.setdefault(each.case.id, []).append((each.parameter, each.state))
    return {id_: (run.implemented[id_], counting(each, depth)) for id_, each in found.items()}


def _profile(run: RunResult, name: str) -> Judgement:
    depth = catalogue().profiles[name].depth
    counted = _counted(run, depth_for(name))
    cases = {id_: each for id_, each in counted.items() if name in each[0].profiles}
    verdict, reason = _judged(cases)
    foreign = _foreign(run, name)
    if foreign:
        verdict, reason = Verdict.INCONCLUSIVE, foreign
    elif not run.reaches(depth):
        verdict, reason = Verdict.INCONCLUSIVE, DEPTH_REMEDY[depth]
    else:
        verdict, reason = _of_all_nodes(run, verdict, reason)
    return _judgement(name, depth, cases, verdict, reason, applies=not foreign)


def _of_all_nodes(run: RunResult, verdict: Verdict, reason: str) -> tuple[Verdict, str]:
    """Nothing good is said of a cluster while a node of it has no report."""
    silent = [each.name for each in run.nodes if not each.verdict]
    if not silent or verdict in (Verdict.INCONCLUSIVE, Verdict.NON_CONFORMANT):
        return verdict, reason
    return Verdict.INCONCLUSIVE, f"no report came of {named(silent)}"


def _foreign(run: RunResult, name: str) -> str:
    """Why a conformance profile does not concern this kind of driver; empty if it does."""
    scope = run.profile.driver.scope
    if scope is Scope.NODE and name == CONTROLLER:
        return "driver.scope is node: there is no controller to judge"
    if scope is Scope.CLUSTER and name in (NODE_CORE, CLUSTER_CORE):
        return "driver.scope is cluster: there is no kubelet plugin to judge"
    return ""


def _features(run: RunResult, counted: Mapping[str, tuple[Case, State]]) -> Iterable[Judgement]:
    extended = {id_: each for id_, each in counted.items() if EXTENDED in each[0].profiles}
    depth = catalogue().profiles[EXTENDED].depth
    for name in catalogue().features:
        cases = {id_: each for id_, each in extended.items() if name in each[0].features}
        if cases and run.profile.declares(name):
            verdict, reason = _judged(cases)
            if not run.reaches(depth):
                verdict, reason = Verdict.INCONCLUSIVE, DEPTH_REMEDY[depth]
            verdict, reason = _of_all_nodes(run, verdict, reason)
            yield _judgement(name, depth, cases, verdict, reason, applies=True)


def _judged(cases: Mapping[str, tuple[Case, State]]) -> tuple[Verdict, str]:
    return verdict_of(
        {id_: case.level for id_, (case, _) in cases.items()},
        {id_: state for id_, (_, state) in cases.items()},
    )


def _judgement(
    name: str,
    depth: Depth,
    cases: Mapping[str, tuple[Case, State]],
    verdict: Verdict,
    reason: str,
    *,
    applies: bool,
) -> Judgement:
    return Judgement(
        name=name,
        depth=depth,
        verdict=verdict,
        applies=applies,
        reason=reason,
        states={id_: state for id_, (_, state) in sorted(cases.items())},
        counts=counts_of(cases.values()),
    )


def _in(states: Mapping[str, State], *wanted: State) -> list[str]:
    return [id_ for id_, state in states.items() if state in wanted]
