"""What happened to ResourceClaims, request by request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.bench.publishing import DELETIONS
from pytest_dra.bench.publishing import REFUSED
from pytest_dra.bench.publishing import WRITES
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from pytest_dra.timeline import Timeline


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWrite:
    """A create, update or patch of one claim, and the object right before and after it.

    ``before`` is None for one that nobody has written yet; ``after`` is ``before`` where the write
    was refused.
    """

    entry: Entry[ApiRequest]
    before: Json | None
    after: Json | None

    @property
    def what(self) -> str:
        """The write in words."""
        event = self.entry.event
        part = f"/{event.subresource}" if event.subresource else ""
        return f"{event.verb} of claim {event.namespace}/{event.name}{part}"

    @property
    def uid(self) -> str:
        """Of the claim that is meant; empty where nobody can tell."""
        found = [self.sent, self.after or {}, self.before or {}]
        uids = [str((each.get("metadata") or {}).get("uid") or "") for each in found]
        return next((uid for uid in uids if uid), "")

    @property
    def sent(self) -> Json:
        """The object that was sent; a list of steps is none."""
        body: object = self.entry.event.body
        return body if isinstance(body, dict) else {}

    @property
    def refused(self) -> bool:
        """True if the server has not taken it."""
        return self.entry.event.code >= REFUSED


def claim_writes(timeline: Timeline, *, since: int = 0) -> Iterator[ClaimWrite]:
    """All writes of claims from a serial on, whoever made them, in their order."""
    state: dict[tuple[str, str], Json] = {}
    for entry in timeline.entries(ApiRequest, since=since, where=_changes):
        event = entry.event
        key = (event.namespace, event.name or _name(event.answer))
        before = state.get(key)
        if event.verb in DELETIONS:
            if event.code < REFUSED:
                state.pop(key, None)
            continue
        after = event.answer if event.code < REFUSED and event.answer else before
        if after is not None:
            state[key] = after
        yield ClaimWrite(entry=entry, before=before, after=after)


def _changes(event: ApiRequest) -> bool:
    return event.resource == RESOURCE_CLAIMS.plural and event.verb in WRITES | DELETIONS


def _name(item: Json | None) -> str:
    return str(((item or {}).get("metadata") or {}).get("name") or "")
