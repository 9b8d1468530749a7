"""What the timeline of a run shows of a driver beside the cases: plain data for the report.

Made for each timeline of a run (its benches, its workers) and put together by :func:`merged`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from typing import Final

from pytest_dra.checks import health
from pytest_dra.checks import rights
from pytest_dra.checks.health import Stream
from pytest_dra.checks.idleness import Idleness
from pytest_dra.checks.rights import Grant
from pytest_dra.checks.rights import Verbs
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import DraCall

VERSIONS: Final = "apiVersions"
SERVICES: Final = "kubeletServices"
"""Fields of the report."""

NOT_FOUND: Final = 404

DIGITS: Final = 1
"""Seconds are given to a tenth."""

SHOWN_MAX: Final = 4
"""Rules in a line of the terminal; the report has all."""

MANY: Final = 256
"""Entries of a list: a driver can ask for more kinds than anybody reads of."""


def idle(found: Idleness) -> Json:
    """How long nobody gave the driver a reason to write slices, and how often it wrote then."""
    return {"seconds": round(found.seconds, DIGITS), "writes": len(found.writes)}


def requests(asked: Collection[ApiRequest]) -> list[Json]:
    """The requests of a driver by API version; ``notFound``: answered 404 for want of a kind."""
    every, lost = Counter[str](), Counter[str]()
    for each in asked:
        if each.resource:
            version = f"{each.group}/{each.version}".lstrip("/")
            every[version] += 1
            lost[version] += each.code == NOT_FOUND and not each.name
    found = [
        {"version": version, "requests": count, "notFound": lost[version]}
        for version, count in sorted(every.items())
    ]
    return found[:MANY]


def calls(made: Iterable[DraCall]) -> list[Json]:
    """The kubelet's calls of Prepare and Unprepare by service."""
    counted = Counter(each.service for each in made)
    return [{"service": name, "calls": count} for name, count in sorted(counted.items())]


def cadence(streams: Iterable[Stream]) -> list[Json]:
    """How often each device's health was reported, by service.

    ``shortestS`` and ``longestS`` are pauses between two reports of one device on one stream, None
    where none was reported twice. ``leaseS`` is the shortest lease: so long is a report believed.
    """
    services: dict[str, list[Stream]] = {}
    for each in streams:
        services.setdefault(each.service, []).append(each)
    found = []
    for service, some in sorted(services.items()):
        pauses = [pause for each in some for pause in _pauses(each)]
        leases = [health.lease_s(device) for _, device in health.told(some)]
        found.append(
            {
                "service": service,
                "reports": sum(len(each.reports) for each in some),
                "shortestS": round(min(pauses), DIGITS) if pauses else None,
                "longestS": round(max(pauses), DIGITS) if pauses else None,
                "leaseS": min(leases, default=None),
            }
        )
    return found


def _pauses(stream: Stream) -> Iterator[float]:
    times: dict[health.Name, list[float]] = {}
    for entry, device in health.told([stream]):
        times.setdefault(health.name_of(device), []).append(entry.at)
    for each in times.values():
        yield from (later - earlier for earlier, later in pairwise(each))


def used(
    asked: Collection[ApiRequest],
    granted: Collection[Grant] | None,
    *,
    everybodys: Collection[Grant] = (),
) -> Json:
    """What a driver has asked of the API server, beside what its manifests grant.

    Args:
        asked: its requests.
        granted: what these are; None where they say nothing of it: then nothing is told of it.
        everybodys: what every account has.
    """
    every = None if granted is None else [*granted, *everybodys]
    lacking = [] if every is None else [each for each in asked if not _covered(each, every)]
    return {
        "granted": granted is not None,
        "used": _listed(rights.verbs_of(asked)),
        "lacking": _listed(rights.verbs_of(lacking)),
        "unused": _listed({} if granted is None else rights.idle_verbs(asked, granted)),
    }


def _listed(found: Verbs) -> list[Json]:
    rules = [
        {"group": group, "resource": resource, "verbs": sorted(verbs)}
        for (group, resource), verbs in sorted(found.items())
    ]
    return rules[:MANY]


def _covered(request: ApiRequest, granted: Iterable[Grant]) -> bool:
    return not request.resource or any(grant.covers(request) for grant in granted)


def merged(several: Iterable[Json]) -> Json:
    """What timelines of one driver show together; empty if there is none."""
    every = list(several)
    if not every:
        return {}
    return {
        "idle": {key: sum(each["idle"][key] for each in every) for key in ("seconds", "writes")},
        VERSIONS: _merged(every, VERSIONS, "version", _sums),
        SERVICES: _merged(every, SERVICES, "service", _sums),
        "health": _merged(every, "health", "service", _spans),
        "rights": {
            "granted": all(each["rights"]["granted"] for each in every),
            "used": _rules(every, "used", set.union),
            "lacking": _rules(every, "lacking", set.union),
            "unused": _rules(every, "unused", set.intersection),
        },
    }


def _rules(every: list[Json], key: str, join: Callable[..., set[str]]) -> list[Json]:
    several = [
        {(rule["group"], rule["resource"]): set(rule["verbs"]) for rule in each["rights"][key]}
        for each in every
    ]
    places = {place for each in several for place in each}
    joined = {place: join(*(each.get(place, set()) for each in several)) for place in places}
    return _listed({place: verbs for place, verbs in joined.items() if verbs})


def _merged(
    every: list[Json], field: str, key: str, join: Callable[[list[Json], str], Json]
) -> list[Json]:
    found: dict[str, list[Json]] = {}
    for each in every:
        for entry in each[field]:
            found.setdefault(entry[key], []).append(entry)
    return [join(entries, key) for _, entries in sorted(found.items())]


def _sums(entries: list[Json], key: str) -> Json:
    numbers = [name for name in entries[0] if name != key]
    return {key: entries[0][key], **{name: sum(e[name] for e in entries) for name in numbers}}


def _spans(entries: list[Json], key: str) -> Json:
    def known(name: str) -> list[Any]:
        return [entry[name] for entry in entries if entry[name] is not None]

    return {
        key: entries[0][key],
        "reports": sum(entry["reports"] for entry in entries),
        "shortestS": min(known("shortestS"), default=None),
        "longestS": max(known("longestS"), default=None),
        "leaseS": min(known("leaseS"), default=None),
    }


def lines(found: Json) -> Iterator[str]:
    """The same for the terminal, in few lines; none where nothing was observed."""
    if not found:
        return
    idle_s, writes = found["idle"]["seconds"], found["idle"]["writes"]
    yield f"observed: {idle_s:.0f} s idle, {writes} slice writes in them"
    versions = [f"{each['version']} ({each['requests']}{_lost(each)})" for each in found[VERSIONS]]
    services = [f"{each['service']} ({each['calls']})" for each in found[SERVICES]]
    if versions:
        yield f"observed: requests of the API: {', '.join(versions)}"
    if services:
        yield f"observed: calls of the kubelet: {', '.join(services)}"
    for each in found["health"]:
        if each["reports"]:
            pauses = "once" if each["longestS"] is None else (
                f"every {each['shortestS']:g} to {each['longestS']:g} s"
            )  # fmt: skip
            lease = "of no device" if each["leaseS"] is None else f"lease {each['leaseS']:g} s"
            yield f"observed: health by {each['service']}, {pauses}, {lease}"
    lacking = found["rights"]["lacking"]
    if lacking:
        more = f" and {len(lacking) - SHOWN_MAX} more" if len(lacking) > SHOWN_MAX else ""
        shown = [f"{', '.join(e['verbs'])} of {e['resource']}" for e in lacking[:SHOWN_MAX]]
        yield f"observed: used and not granted: {'; '.join(shown)}{more}"


def _lost(entry: Json) -> str:
    return f", {entry['notFound']} for a kind that is not served" if entry["notFound"] else ""
