"""What happened to ResourceSlices, write by write, as a watch would have told it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench.publishing import DELETIONS
from pytest_dra.bench.publishing import REFUSED
from pytest_dra.bench.publishing import WRITES
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from pytest_dra.timeline import Timeline


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The slices right after one request that changed some, by name.

    ``before`` are those right before it; ``names`` are the slices that it changed.
    """

    entry: Entry[ApiRequest]
    names: tuple[str, ...]
    before: Mapping[str, Json]
    after: Mapping[str, Json]


def steps(timeline: Timeline) -> Iterator[Step]:
    """All changes of slices since the beginning, in their order."""
    state: dict[str, Json] = {}
    for entry in timeline.entries(ApiRequest, where=_changes):
        before = state
        state = dict(state)
        names = tuple(_apply(entry.event, state))
        yield Step(entry=entry, names=names, before=before, after=state)


def _changes(event: ApiRequest) -> bool:
    return (
        event.resource == RESOURCE_SLICES.plural
        and event.code < REFUSED
        and event.verb in WRITES | DELETIONS
    )


def _apply(event: ApiRequest, state: dict[str, Json]) -> Iterator[str]:
    answer = event.answer or {}
    if event.verb == "deletecollection":
        gone = [str((item.get("metadata") or {}).get("name")) for item in answer.get("items") or []]
    elif event.verb == "delete":
        gone = [event.name]
    else:
        name = str((answer.get("metadata") or {}).get("name", ""))
        if name:
            state[name] = answer
            yield name
        return
    for name in gone:
        if state.pop(name, None) is not None:
            yield name
