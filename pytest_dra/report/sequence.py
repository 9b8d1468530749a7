"""Which moments of a timeline are drawn of a failed case."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
from typing import Any

from pytest_dra.report.excerpt import told
from pytest_dra.report.steps import STEPS_LIMIT
from pytest_dra.report.steps import Party
from pytest_dra.report.steps import Step
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import EndpointProbe
from pytest_dra.timeline import Entry
from pytest_dra.timeline import FileEvent
from pytest_dra.timeline import HealthReport
from pytest_dra.timeline import Mark
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import RegistrationCall
from pytest_dra.timeline import StreamEvent
from pytest_dra.timeline import Timeline

SUITE_IDENTITY = "pytest-dra"
"""What the suite itself is called on the API server."""

KUBELET_IDENTITY = "system:node:"
"""How the identity of a kubelet begins."""

QUIET_VERBS = frozenset({"list", "watch"})
"""Requests of informers, which say little where they succeed."""

REFUSED = 400
"""HTTP status codes from here on mean that the server refused the request."""


def sequence(
    timeline: Timeline, proof: Collection[int], *, since: int = 0, judged: str = ""
) -> tuple[Step, ...]:
    """The moments that decide and what was near them, oldest first.

    Args:
        timeline: of the run.
        proof: serials of the entries that decide; without any a last step says that it was judged.
        since: the first serial of the case.
        judged: what was found; the text of that last step.

    Returns:
        At most STEPS_LIMIT steps.
    """
    wanted = set(proof)
    entries = [
        each
        for each in timeline.all(since=min([since, *wanted]))
        if each.serial in wanted or (_told(each) and (wanted or each.serial >= since))
    ]
    decisive = [place for place, each in enumerate(entries) if each.serial in wanted]
    limit = STEPS_LIMIT if decisive else STEPS_LIMIT - 1
    chosen = _near(decisive or [len(entries)], len(entries), limit)
    found = []
    before = chosen[0] - 1 if chosen else -1
    for place in chosen:
        each = entries[place]
        found.append(_step(each, decides=each.serial in wanted, skipped=place - before - 1))
        before = place
    if not decisive:
        last = entries[-1] if entries else None
        found.append(
            Step(
                at=last.at if last else timeline.now(),
                serial=last.serial if last else 0,
                source=Party.DRIVER,
                target=Party.DRIVER,
                text=f"judged: {judged}",
                decides=True,
            )
        )
    return tuple(found)


def _near(centres: Sequence[int], count: int, limit: int) -> list[int]:
    """Places of the centres, then their neighbours, as many as there is room for."""
    if len(centres) > limit:
        half = limit // 2
        centres = [*centres[:half], *centres[-(limit - half) :]]
    chosen = {each for each in centres if each < count}
    radius = 0
    while len(chosen) < min(limit, count):
        radius += 1
        for centre in reversed(centres):
            for place in (centre - radius, centre + radius):
                if 0 <= place < count and len(chosen) < limit:
                    chosen.add(place)
    return sorted(chosen)


def _told(entry: Entry[Any]) -> bool:
    """False for what only fills the drawing: informers, and where cases begin and end."""
    event = entry.event
    if isinstance(event, Mark):
        return not event.text.startswith("case ")
    if isinstance(event, ApiRequest):
        return event.verb not in QUIET_VERBS or event.code >= REFUSED
    return True


def _step(entry: Entry[Any], *, decides: bool, skipped: int) -> Step:
    source, target = _parties(entry.event)
    text = told(entry.event) + (" (disturbed)" if entry.disturbed else "")
    return Step(
        at=entry.at,
        serial=entry.serial,
        source=source,
        target=target,
        text=text,
        decides=decides,
        skipped=skipped,
    )


def _parties(event: object) -> tuple[Party, Party]:
    if isinstance(event, ApiRequest):
        if event.identity == SUITE_IDENTITY:
            return Party.API_SERVER, Party.API_SERVER
        kubelet = event.identity.startswith(KUBELET_IDENTITY)
        return Party.KUBELET if kubelet else Party.DRIVER, Party.API_SERVER
    if isinstance(event, (RegistrationCall, DraCall, EndpointProbe)):
        return Party.KUBELET, Party.DRIVER
    if isinstance(event, HealthReport):
        return Party.DRIVER, Party.KUBELET
    if isinstance(event, StreamEvent):
        ended = bool(event.code)
        return (Party.DRIVER, Party.KUBELET) if ended else (Party.KUBELET, Party.DRIVER)
    if isinstance(event, FileEvent):
        return Party.DRIVER, Party.CDI
    if isinstance(event, ProcessEvent):
        return Party.DRIVER, Party.DRIVER
    return Party.KUBELET, Party.KUBELET
