"""What the timelines of a bench, and of those beside it, show of the driver beside the cases."""

from __future__ import annotations

from pytest_dra.bench import health
from pytest_dra.bench import idling
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.granted import everybodys
from pytest_dra.bench.granted import shipped_to
from pytest_dra.checks import observations
from pytest_dra.checks.rights import Grant
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import DraCall


def observed(bench: Bench) -> Json:
    """The observations of a whole run, as ``checks.observations`` has them."""
    granted = _granted(bench)
    return observations.merged(_of(each, granted) for each in (bench, *bench.beside()))


def _of(bench: Bench, granted: list[Grant] | None) -> Json:
    timeline = bench.timeline
    asked = [
        entry.event
        for entry in timeline.entries(ApiRequest)
        if entry.event.identity in bench.places
    ]
    calls = [entry.event for entry in timeline.entries(DraCall)]
    return {
        "idle": observations.idle(idling.idle(bench)),
        "rights": observations.used(asked, granted, everybodys=everybodys()),
        "health": observations.cadence(health.all_streams(bench)),
        observations.VERSIONS: observations.requests(asked),
        observations.SERVICES: observations.calls(calls),
    }


def _granted(bench: Bench) -> list[Grant] | None:
    try:
        return shipped_to(bench)
    except (NotApplicable, UnsupportedEnvironment):
        return None
