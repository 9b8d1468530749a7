"""How long the bench's instances were left alone, and what they wrote meanwhile."""

from __future__ import annotations

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench import history
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.publishing import DELETIONS
from pytest_dra.bench.publishing import REFUSED
from pytest_dra.bench.publishing import WRITES
from pytest_dra.checks import idleness
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from pytest_dra.timeline import Mark
from pytest_dra.timeline import ProcessEvent

STARTED = "start"


def idle(bench: Bench) -> idleness.Idleness:
    """The idle time of all instances together."""
    found = idleness.NONE
    for user, node in bench.places.items():
        found += _of(bench, user, node)
    return found


def _of(bench: Bench, user: str, node: str) -> idleness.Idleness:
    name = node.removeprefix("node-")
    every = bench.timeline.all()
    lives = [entry for entry in every if _is_life(entry, name)]
    writes = [
        idleness.Write(entry.at, entry.serial, refused=entry.event.code >= REFUSED)
        for entry in every
        if isinstance(entry.event, ApiRequest)
        and entry.event.identity == user
        and entry.event.resource == RESOURCE_SLICES.plural
        and entry.event.verb in WRITES | DELETIONS
    ]
    own = {write.serial for write in writes}
    others = set(bench.places.values()) - {node}
    provoked = [
        entry.at
        for entry in every
        if entry.serial not in own and _provokes(entry, user=user, name=name)
    ]
    provoked += [
        step.entry.at
        for step in history.steps(bench.timeline)
        if step.entry.event.identity != user and _touches(step, others)
    ]
    found = idleness.NONE
    now = bench.timeline.now()
    for number, entry in enumerate(lives):
        if entry.event.action == STARTED:
            end = lives[number + 1].at if number + 1 < len(lives) else now
            within = [entry.at, *(at for at in provoked if entry.at < at < end)]
            found += idleness.idleness(within, writes, until=end)
    return found


def _is_life(entry: Entry[object], name: str) -> bool:
    return isinstance(entry.event, ProcessEvent) and entry.event.instance == name


def _provokes(entry: Entry[object], *, user: str, name: str) -> bool:
    """True for what the suite did to the instance, or somebody to all of them."""
    event = entry.event
    if isinstance(event, Mark):
        return event.instance == name or event.text.startswith("feature gates")
    if isinstance(event, ApiRequest):
        return entry.disturbed and event.identity == user
    return False


def _touches(step: history.Step, others: set[str]) -> bool:
    """True if a slice was changed that is not of another node."""
    return any(
        (item.get("spec") or {}).get("nodeName") not in others
        for name in step.names
        for item in (step.before.get(name), step.after.get(name))
        if item is not None
    )
