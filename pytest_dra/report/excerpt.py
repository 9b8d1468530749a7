"""The part of a timeline that proves a failed case, one line an entry."""

from __future__ import annotations

import json
from pathlib import PurePath

from pytest_dra.report.plain import LINE_LIMIT
from pytest_dra.report.plain import one_line
from pytest_dra.report.results import EXCERPT_LINES
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import EndpointProbe
from pytest_dra.timeline import Entry
from pytest_dra.timeline import Event
from pytest_dra.timeline import FileEvent
from pytest_dra.timeline import HealthReport
from pytest_dra.timeline import Mark
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import RegistrationCall
from pytest_dra.timeline import StreamEvent
from pytest_dra.timeline import Timeline

LAST_LINES = 12
"""Lines shown of a case that names no proof: what happened just before it failed."""

HTTP_REFUSAL = 400
"""HTTP status codes from here on mean that the server refused the request."""

ANSWER_LIMIT = 160
"""Characters of an answer in a line."""


def excerpt(timeline: Timeline, proof: tuple[int, ...], *, since: int = 0) -> tuple[str, ...]:
    """The entries that prove something, oldest first.

    Args:
        timeline: of the run.
        proof: serials of the entries; unknown ones are left out. Empty: the last entries.
        since: the first serial of the case, for a case without proof.

    Returns:
        At most EXCERPT_LINES lines; where entries are left out in the middle, a line says so.
    """
    if proof:
        wanted = set(proof)
        chosen = [each for each in timeline.all(since=min(wanted)) if each.serial in wanted]
    else:
        chosen = timeline.all(since=since)[-LAST_LINES:]
    lines = [line(each) for each in chosen[:EXCERPT_LINES]]
    if len(chosen) > EXCERPT_LINES:
        half = EXCERPT_LINES // 2
        left_out = len(chosen) - 2 * half + 1
        tail = [line(each) for each in chosen[-(half - 1) :]]
        lines = [*lines[:half], f"... {left_out} entries are left out", *tail]
    return tuple(lines)


def line(entry: Entry[Event]) -> str:
    """One entry: seconds since the start of the run, its serial, and what happened."""
    mark = " (disturbed)" if entry.disturbed else ""
    return one_line(f"+{entry.at:.3f} s #{entry.serial} {told(entry.event)}{mark}", LINE_LIMIT)


def told(event: Event) -> str:
    """What happened, in one line; not yet cut or escaped."""
    if isinstance(event, ApiRequest):
        return _request(event)
    if isinstance(event, RegistrationCall):
        outcome = _outcome(event.code, event.details, event.response)
        return (
            f"registration {event.method} on {PurePath(event.socket).name} "
            f"{outcome} ({event.duration_s:.3f} s)"
        )
    if isinstance(event, DraCall):
        claims = " ".join(
            f"{each.get('namespace')}/{each.get('name')} ({each.get('uid')})"
            for each in event.claims[:ANSWER_LIMIT]
        )
        outcome = _outcome(event.code, event.details, event.response)
        return f"{event.method} [{claims}] {outcome} ({event.duration_s:.3f} s)"
    if isinstance(event, EndpointProbe):
        outcome = "connected" if event.connected else f"not connected: {event.error}"
        return f"endpoint {PurePath(event.endpoint).name} {outcome}"
    if isinstance(event, HealthReport):
        left_out = f", {event.left_out} devices left out" if event.left_out else ""
        return f"health {json.dumps(event.devices, default=str)[:ANSWER_LIMIT]}{left_out}"
    if isinstance(event, StreamEvent):
        ended = f" -> {event.code} {event.details[:ANSWER_LIMIT]}" if event.code else ""
        return f"health stream {event.service} {event.action}{ended}"
    if isinstance(event, ProcessEvent):
        ended = "" if event.exit_code is None else f", exit code {event.exit_code}"
        return f"process {event.component} {event.action}{ended} {event.detail}"
    if isinstance(event, FileEvent):
        return _file(event)
    return _mark(event)


def _mark(event: Mark) -> str:
    return f"suite: {event.text}"


def _file(event: FileEvent) -> str:
    place = "/".join(part for part in (PurePath(event.directory).name, event.name) if part)
    problem = f": {event.problem[:ANSWER_LIMIT]}" if event.problem else ""
    return f"file {place} {event.action}{problem}"


def _request(event: ApiRequest) -> str:
    resource = event.resource + (f"/{event.subresource}" if event.subresource else "")
    group = f".{event.group}" if event.group else ""
    name = "/".join(part for part in (event.namespace, event.name) if part)
    refusal = ""
    if event.code >= HTTP_REFUSAL and event.answer is not None:
        refusal = f": {str(event.answer.get('message', ''))[:ANSWER_LIMIT]}"
    return (
        f"api {event.verb} {resource}{group}/{event.version} {name} -> {event.code}"
        f"{refusal} ({event.duration_s:.3f} s) by {event.identity}"
    )


def _outcome(code: str, details: str, response: Json | None) -> str:
    if response is None:
        return f"-> {code} {details[:ANSWER_LIMIT]}"
    return f"-> {code} {json.dumps(response, default=str)[:ANSWER_LIMIT]}"
