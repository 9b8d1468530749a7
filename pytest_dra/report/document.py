"""The content of ``report.yaml`` as plain data, of the form of ``schema.json``."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from pytest_dra.catalogue import catalogue
from pytest_dra.report import behaviours
from pytest_dra.report import nodes
from pytest_dra.report.checksum import FIELD
from pytest_dra.report.checksum import checksum
from pytest_dra.report.plain import plain
from pytest_dra.report.redaction import redacted_data
from pytest_dra.report.remedies import command
from pytest_dra.report.remedies import remedy
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import Option
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import Counts
from pytest_dra.report.verdict import Judgement
from pytest_dra.report.verdict import Summary
from pytest_dra.report.verdict import lacking_musts
from pytest_dra.spec import Json

API_VERSION = "pytest-dra.dev/v1alpha1"
KIND = "ConformanceReport"

DISCLAIMER = "This is the result of a test run. It is no certification by Kubernetes or the CNCF."

SECONDS_DIGITS = 3
"""Durations are given to the millisecond."""


def document(run: RunResult, summary: Summary) -> Json:
    """The report of a run. Only times tell two equal runs apart.

    These are ``startedAt``, ``durationSeconds``, ``figures``, ``observations``, and what a failed
    case quotes of its timeline.

    Every string is redacted; the keys are in no order (the writer sorts them).
    """
    spreads = nodes.spread(run.nodes)
    failed = [each.case.id for each in run.results if each.state in (State.FAILED, State.ERRORED)]
    data: Json = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "disclaimer": DISCLAIMER,
        "verdict": summary.overall.verdict.value,
        "verdictOf": {
            "profile": summary.overall.name,
            "depth": summary.overall.depth.value,
            "kubernetes": run.kubernetes,
            "reason": summary.overall.reason,
        },
        "driver": {"name": plain(run.driver), "launched": plain(run.launched)},
        "implementation": _identity(run),
        "environment": {
            "cluster": plain(run.cluster),
            **({"node": plain(run.node)} if run.node else {}),
            "depth": run.depth.value,
            "depths": [each.value for each in run.depths],
            "kubernetes": run.kubernetes,
            "hardware": run.profile.launch.hardware.value,
            "versions": {name: plain(each) for name, each in run.versions.items()},
        },
        "catalogue": {
            "hash": run.catalogue or catalogue().hash,
            "implemented": len(run.implemented),
        },
        "options": [
            {"name": each.name, "value": plain(_value(each)), "source": each.source}
            for each in sorted(run.options, key=lambda each: each.name)
        ],
        "profile": run.profile.data,
        "profiles": [_judgement(each) for each in summary.profiles],
        "features": _features(run, summary),
        "counts": _counts(summary.counts),
        "missing": [_missing(each) for each in lacking_musts(run)],
        "cases": [_case(each) | _nodes(each.name, spreads) for each in run.results],
        "behaviours5970": behaviours.states_of(run),
        "figures": run.figures.shown(),
        "reproduce": {"all": command(run), "failed": command(run, failed) if failed else ""},
        "startedAt": _moment(run.started),
        "durationSeconds": round(run.duration_s, SECONDS_DIGITS),
    }
    if run.nodes:
        data["nodes"] = _plain(nodes.as_data(run.nodes))
    if run.observations:
        data["observations"] = _plain(run.observations)
    safe = redacted_data(data)
    made = safe if isinstance(safe, dict) else data
    return {**made, FIELD: checksum(made)}


def _plain(value: Any) -> Any:
    """Names in it are the driver's."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return plain(value) if isinstance(value, str) else value


def _identity(run: RunResult) -> Json:
    identity = run.profile.identity
    return {
        "organization": identity.organization,
        "project": identity.project,
        "url": identity.url,
        "version": identity.version,
        "image": identity.image,
        "contact": list(identity.contact),
        "missing": list(identity.missing()),
    }


def _value(option: Option) -> str:
    if isinstance(option.value, bool):
        return "true" if option.value else "false"
    return option.value


def _moment(when: datetime.datetime) -> str:
    return when.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _counts(counts: Counts) -> Json:
    return {
        level.value: {state.value: number for state, number in states.items()}
        for level, states in counts.items()
    }


def _judgement(judged: Judgement) -> Json:
    return {
        "name": judged.name,
        "depth": judged.depth.value,
        "verdict": judged.verdict.value,
        "applies": judged.applies,
        "reason": judged.reason,
        "counts": _counts(judged.counts),
        "failed": list(judged.ids(State.FAILED)),
        "errored": list(judged.ids(State.ERRORED)),
        "waived": list(judged.ids(State.WAIVED)),
        "unsupportedEnvironment": list(judged.ids(State.UNSUPPORTED_ENVIRONMENT)),
        "notRun": list(judged.ids(State.NOT_RUN)),
        "notApplicable": list(judged.ids(State.NOT_APPLICABLE)),
    }


def _features(run: RunResult, summary: Summary) -> Json:
    known = catalogue().features
    declared = {name for name in known if run.profile.declares(name)}
    seen = {
        feature
        for each in run.results
        if each.provisional
        for feature in each.case.features
        if feature not in declared
    }
    return {
        "declared": sorted(declared),
        "undeclared": sorted(set(known) - declared),
        "provisional": sorted(seen),
        "verdicts": [_judgement(each) for each in summary.features],
    }


def _missing(result: CaseResult) -> Json:
    return {
        "case": result.name,
        "state": result.state.value,
        "reason": result.reason,
        "remedy": remedy(result),
    }


def _nodes(name: str, spreads: Mapping[str, Mapping[str, Sequence[str]]]) -> Json:
    """Where a case ended how, if that was not the same on all nodes."""
    states = spreads.get(name)
    if states is None:
        return {}
    return {"nodes": {state: list(map(plain, names)) for state, names in states.items()}}


def _case(result: CaseResult) -> Json:
    case = result.case
    found: Json = {
        "id": case.id,
        "area": case.area,
        "level": case.level.value,
        "title": case.title,
        "profiles": list(case.profiles),
        "state": result.state.value,
        "provisional": result.provisional,
        "durationSeconds": round(result.duration_s, SECONDS_DIGITS),
    }
    optional: Iterable[tuple[str, object]] = (
        ("parameter", result.parameter),
        ("reason", result.reason),
        ("error", result.error),
        ("notes", list(result.notes)),
        ("timeline", list(result.excerpt)),
        ("sequence", [each.to_dict() for each in result.steps]),
    )
    found |= {key: each for key, each in optional if each}
    if result.finding is not None:
        found |= {
            "where": result.finding.where,
            "got": result.finding.got,
            "want": result.finding.want,
            "from": result.finding.source,
            "breaks": case.breaks,
            "requirement": case.requirement,
        }
    return found
