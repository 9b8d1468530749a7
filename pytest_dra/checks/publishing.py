"""Slices that are right again after trouble, and how many writes that takes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Sequence

from pytest_dra.api.resources import RESOURCE_GROUP
from pytest_dra.checks.pools import are_whole
from pytest_dra.checks.pools import by_pool
from pytest_dra.checks.pools import newest
from pytest_dra.checks.pools import text_of
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry

SERVED = "v1"
NOT_FOUND = 404


def says_the_same(now: Sequence[Json], before: Iterable[Json]) -> bool:
    """True if each pool is complete and has the same devices with the same content.

    Slices of older generations do not count: that they go is the matter of another case.
    """
    return are_whole(now) and _devices(now) == _devices(before)


def has_as_many(now: Sequence[Json], before: Iterable[Json]) -> bool:
    """True if each pool is complete, and there are as many devices.

    After a restart no more is asked: names that stay are the matter of another case.
    """
    return are_whole(now) and len(_devices(now)) >= len(_devices(before))


def must_be_as_many(
    now: Sequence[Json], *, before: Iterable[Json], after: str, within_s: float
) -> None:
    """A driver that was started in trouble publishes as many devices as before it."""
    if not has_as_many(now, before):
        raise Violation(
            f"ResourceSlices after {after}",
            got=f"{len(_devices(now))} devices" + ("" if are_whole(now) else ", pools incomplete"),
            want=f"{len(_devices(before))} devices in complete pools within {within_s:g} s",
        )


def must_be_right(
    now: Sequence[Json], *, before: Iterable[Json], after: str, within_s: float
) -> None:
    """The slices say the same as before the trouble.

    Args:
        now: at the deadline or earlier.
        before: before the trouble.
        after: names the trouble.
        within_s: the deadline.
    """
    if says_the_same(now, before):
        return
    wanted, found = _devices(before), _devices(now)
    wrong = sorted(key for key in {*wanted, *found} if wanted.get(key) != found.get(key))
    if wrong:
        missing = [key for key in wrong if key not in found]
        kind = f"{len(missing)} of them missing" if missing else "present, but not as before"
        got = f"{len(wrong)} devices wrong ({kind}), such as {'/'.join(wrong[0])}"
    else:
        got = "pools that are not complete"
    raise Violation(
        f"ResourceSlices after {after}",
        got=got,
        want=f"the driver's own inventory again within {within_s:g} s",
    )


def writes_must_be_few(writes: Sequence[int], *, most: int, within_s: float) -> None:
    """A driver whose fields are dropped does not write for ever.

    Args:
        writes: serials of its slice writes since its start.
        most: how many it may make.
        within_s: in this time.
    """
    if len(writes) > most:
        raise Violation(
            "start with the feature gates of its fields off",
            got=f"{len(writes)} slice writes and more",
            want=f"at most {most} in {within_s:g} s",
            proof=tuple(writes[: most + 1]),
        )


def dropped_fields_must_be_told(fields: Iterable[str], *, log: str, events: Iterable[Json]) -> None:
    """A log line or an event names one of the dropped fields.

    Args:
        fields: names of the fields.
        log: the driver's output.
        events: Event objects that it has written.
    """
    text = log + json.dumps(list(events))
    wanted = list(fields)
    if not any(field.lower() in text.lower() for field in wanted):
        raise Violation(
            "log and events of a driver whose fields the API server has dropped",
            got="nothing that names one of them",
            want=f"a line with {' or '.join(wanted)}",
        )


def served_versions_must_be_used(requests: Iterable[Entry[ApiRequest]]) -> None:
    """Nothing is asked for under a version of resource.k8s.io that is not served.

    Args:
        requests: of a driver that has published nothing, or cannot prepare a claim.
    """
    for entry in requests:
        event = entry.event
        if event.group == RESOURCE_GROUP and event.version != SERVED and event.code == NOT_FOUND:
            raise Violation(
                f"{event.verb} of {event.resource}",
                got=f"resource.k8s.io/{event.version} alone: {event.code}",
                want=f"resource.k8s.io/{SERVED}, which alone is served by default from 1.34 on",
                proof=(entry.serial,),
            )


def _devices(slices: Iterable[Json]) -> dict[tuple[str, str], str]:
    return {
        (key[1], str(device.get("name", ""))): text_of(device)
        for key, members in by_pool(newest(slices)).items()
        for item in members
        for device in (item.get("spec") or {}).get("devices") or []
    }


def groups_must_be_left_out(sent: Iterable[Json], *, within_s: float) -> None:
    """A driver does not send compatibilityGroups to a server that has dropped them.

    Args:
        sent: slices as they were sent after that.
        within_s: how long before it could notice.
    """
    for body in sent:
        for device in (body.get("spec") or {}).get("devices") or ():
            for each in device.get("consumesCounters") or ():
                if each.get("compatibilityGroups"):
                    raise Violation(
                        f"consumesCounters of device {device.get('name')!r}",
                        got=f"compatibilityGroups {each['compatibilityGroups']}",
                        want="none: the API server has dropped the field from a write "
                        f"{within_s:g} s before",
                    )
