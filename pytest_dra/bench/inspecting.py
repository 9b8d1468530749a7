"""The static cases, asked of the slices that the driver under test has sent.

``objects`` judges them, by the rules that it has for captured objects.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.publishing import DELETIONS
from pytest_dra.bench.publishing import REFUSED
from pytest_dra.bench.publishing import WRITES
from pytest_dra.bench.publishing import slice_of
from pytest_dra.objects.reading import Given
from pytest_dra.objects.sent import Inspection
from pytest_dra.objects.sent import Inspector
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Hardware
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import Violation
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry

STANDING_MAX, PAST_MAX = 1_000, 200
"""Slices that are judged: of those that are published, and of those that were; a driver that writes
without end says the same in all of them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A slice as it was sent, by the request with this serial; ``standing`` if it is published."""

    serial: int
    given: Given
    standing: bool
    disturbed: bool


class Inspecting:
    """See the module.

    Args:
        instance: gives the driver under test.
        settled: waits until publishing has settled; the serial of that moment on the timeline.
        version: that is judged for.
    """

    def __init__(
        self,
        instance: Callable[[], Instance],
        settled: Callable[[], int],
        version: KubernetesVersion,
        profile: DriverProfile,
    ) -> None:
        self._instance = instance
        self._settled = settled
        self._profile = profile
        self._inspector = Inspector(version, profile)
        self._inspection: Inspection | None = None
        self._serials: dict[int, int] = {}

    def must_pass(self, case: str) -> None:
        """Judge what was sent until publishing had settled.

        What was sent under a case's hands is left out, unless it was published then.

        Raises:
            Violation: with the request that has sent it.
            NotApplicable: nothing was sent that the case judges.
            Blocked: nothing was sent at all.
        """
        if self._inspection is None:
            self._inspection = self._inspect()
        flaw = self._inspection.flaw(case)
        if flaw is not None:
            serial = self._serials[id(self._inspection.given(flaw))]
            raise Violation(flaw.where, got=flaw.got, want=flaw.want, proof=(serial,))

    def _inspect(self) -> Inspection:
        settled, instance = self._settled(), self._instance()
        requests = [
            entry
            for entry in instance.timeline.entries(ApiRequest, where=_changes)
            if entry.serial < settled
        ]
        sent = list(sent_by(instance.user, requests))
        if not sent and self._profile.launch.hardware is Hardware.NONE:
            raise NotApplicable("launch.hardware is none and no slice is published")
        if not sent:
            raise Blocked("SLICE-001")
        self._serials = {id(one.given): one.serial for one in sent}
        standing = [one.given for one in sent if one.standing]
        past = [one.given for one in sent if not one.standing and not one.disturbed]
        return self._inspector.look(past[:PAST_MAX], standing[:STANDING_MAX])


def _changes(event: ApiRequest) -> bool:
    return event.resource == RESOURCE_SLICES.plural and event.verb in WRITES | DELETIONS


def sent_by(user: str, requests: Iterable[Entry[ApiRequest]]) -> Iterator[Sent]:
    """What one identity has sent, and which of it is what it has published now.

    Args:
        user: the identity.
        requests: of all of them, those that write or delete slices, oldest first.
    """
    every: list[tuple[Entry[ApiRequest], Given]] = []
    standing: dict[str, int] = {}
    for entry in requests:
        event = entry.event
        done = event.code < REFUSED
        if event.verb in DELETIONS:
            for name in _deleted(event) if done else ():
                standing.pop(name, None)
        elif event.identity == user:
            body = slice_of(event)
            if body is not None:
                if done:
                    standing[_name(event.answer)] = len(every)
                every.append((entry, _given(event, body)))
    kept = set(standing.values())
    for number, (entry, given) in enumerate(every):
        yield Sent(
            serial=entry.serial,
            given=given,
            standing=number in kept,
            disturbed=entry.disturbed,
        )


def _given(event: ApiRequest, body: Json) -> Given:
    return Given(
        file="",
        line=0,
        api_version=f"{event.group}/{event.version}",
        kind=RESOURCE_SLICES.kind,
        body=body,
    )


def _deleted(event: ApiRequest) -> Iterator[str]:
    if event.verb == "deletecollection":
        for item in (event.answer or {}).get("items") or []:
            yield _name(item)
    else:
        yield event.name


def _name(item: Json | None) -> str:
    return str(((item or {}).get("metadata") or {}).get("name", ""))
