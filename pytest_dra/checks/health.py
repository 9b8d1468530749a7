"""What a driver says of the health of its devices, stream by stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.timeline import Entry
from pytest_dra.timeline import HealthReport
from pytest_dra.timeline import StreamEvent

Name = tuple[str, str]
"""A device by its pool and its name."""

LEASE_S: Final = 30.0
"""So long does a kubelet believe a report whose timeout is 0 or less (contract 4.7)."""

BEYOND: Final = 7 / 6
"""A lease is watched for so much longer than it is: 5 s where it is the usual one."""

FORGOTTEN_S: Final = 60.0
"""A device may be reported so long after it was taken out of the slices."""

AHEAD_S: Final = 10.0
"""So far may the clock of the driver be ahead."""

MESSAGE_BYTES: Final = 1024
"""Longest message of a device in pod status (ResourceHealthMessageMaxLength)."""

CUT_BYTES: Final = 1021
"""What a kubelet leaves of a longer one, before three dots (contract 4.7)."""

UNIMPLEMENTED: Final = "UNIMPLEMENTED"
"""The status that ends all watching (contract 4.7)."""

SHOWN: Final = 3
"""Names in a message."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One stream: when it was opened, until when it is known, and what came.

    ``began`` and ``until`` are times of the timeline; ``ended`` is None for one that is open, and
    ``code`` then empty. ``left_out``: devices that reports had besides and nobody has looked at.
    """

    instance: str
    driver: str
    service: str
    began: float
    until: float
    reports: tuple[Entry[HealthReport], ...] = ()
    ended: Entry[StreamEvent] | None = None
    left_out: int = 0

    @property
    def told_s(self) -> float:
        """Seconds since its first report; 0 if there was none."""
        return self.until - self.reports[0].at if self.reports else 0.0


def streams(entries: Iterable[Entry[Any]], *, now: float) -> list[Stream]:
    """All streams in what happened, in the order in which they were opened."""
    found: list[Stream] = []
    running: dict[Name, int] = {}
    for entry in entries:
        event = entry.event
        if not isinstance(event, StreamEvent | HealthReport):
            continue
        key = (event.instance, event.service)
        if isinstance(event, HealthReport):
            if key in running:
                place = running[key]
                found[place] = _with(found[place], entry)
        elif event.action == "opened":
            running[key] = len(found)
            found.append(_opened(event, entry.at, now))
        elif key in running:
            place = running.pop(key)
            ended = entry if event.action == "ended" else None
            found[place] = dataclasses.replace(found[place], until=entry.at, ended=ended)
    return found


def _opened(event: StreamEvent, at: float, now: float) -> Stream:
    return Stream(
        instance=event.instance, driver=event.driver, service=event.service, began=at, until=now
    )


def _with(stream: Stream, entry: Entry[HealthReport]) -> Stream:
    return dataclasses.replace(
        stream,
        reports=(*stream.reports, entry),
        left_out=stream.left_out + entry.event.left_out,
    )


def told(some: Iterable[Stream]) -> Iterator[tuple[Entry[HealthReport], Json]]:
    """Each device of each report."""
    for stream in some:
        for entry in stream.reports:
            for device in entry.event.devices:
                yield entry, device


def name_of(device: Json) -> Name:
    """Whose health it is."""
    return str(device["pool_name"]), str(device["device_name"])


def names(some: Iterable[Stream]) -> set[Name]:
    """All devices that were reported."""
    return {name_of(device) for _, device in told(some)}


def lease_s(device: Json) -> float:
    """So long is a report of a device believed."""
    given = device["health_check_timeout_seconds"]
    return float(given) if given > 0 else LEASE_S


def longest_lease_s(some: Iterable[Stream]) -> float:
    """The longest lease of any device; the usual one if none was reported."""
    return max((lease_s(device) for _, device in told(some)), default=LEASE_S)


def first_must_come_soon(some: Sequence[Stream], *, service: str, within_s: float) -> None:
    """A stream has had a message in time."""
    for stream in some:
        if stream.reports and stream.reports[0].at - stream.began <= within_s:
            return
    raise Violation(
        f"{service}/NodeWatchResources",
        got=_fate(some, within_s),
        want=f"a first message within {within_s:g} s",
    )


def _fate(some: Sequence[Stream], within_s: float) -> str:
    for stream in some:
        if stream.reports:
            return f"a first message after {stream.reports[0].at - stream.began:.1f} s"
        if stream.ended is not None:
            event = stream.ended.event
            return f"no message, and the end: {event.code}: {event.details}"
    return f"no message in {within_s:g} s"


def must_be_declined(stream: Stream | None, *, service: str, within_s: float) -> None:
    """A stream that nobody serves has ended with UNIMPLEMENTED in time."""
    ended = stream.ended if stream else None
    got = ended.event.code if ended else f"an open stream without a message after {within_s:g} s"
    if got != UNIMPLEMENTED:
        raise Violation(
            f"{service}/NodeWatchResources of a driver that does not declare DeviceHealth",
            got=got,
            want=f"{UNIMPLEMENTED} within {within_s:g} s",
            proof=(ended.serial,) if ended else (),
        )


def must_be_published(
    some: Iterable[Stream], *, published: Callable[[Name, float, float], bool], now: float
) -> None:
    """Each reported device is in the slices, or was a while before, or has come since.

    Args:
        some: streams.
        published: whether a device was there at any time between two others.
        now: the present.
    """
    for entry, device in told(some):
        name = name_of(device)
        if not published(name, entry.at - FORGOTTEN_S, now):
            raise Violation(
                f"device {name[1]!r} of pool {name[0]!r} in a health report",
                got="no such device in any slice of the driver",
                want="pool and name of a device that is published",
                proof=(entry.serial,),
            )


def must_cover(some: Sequence[Stream], wanted: Collection[Name], *, within_s: float) -> None:
    """The reports together have named every device.

    Reports of which a part was not looked at show nothing.
    """
    missing = sorted(set(wanted) - names(some))
    if missing and not any(stream.left_out for stream in some):
        raise Violation(
            f"health reports of {within_s:.0f} s",
            got=f"{len(missing)} of {len(wanted)} devices in none: {_shown(missing)}",
            want="each device of the node's slices, at least once in a lease",
            proof=tuple(entry.serial for stream in some for entry in stream.reports[:1]),
        )


def must_come_again(again: Sequence[Stream], wanted: Collection[Name], *, within_s: float) -> None:
    """A further stream has named all devices of those before."""
    missing = sorted(set(wanted) - names(again))
    if missing and not any(stream.left_out for stream in again):
        raise Violation(
            f"health reports of a new stream in {within_s:.0f} s",
            got=f"{len(missing)} of {len(wanted)} devices in none: {_shown(missing)}",
            want="all devices that were reported before",
            proof=tuple(entry.serial for stream in again for entry in stream.reports[:1]),
        )


def _shown(some: Sequence[Name]) -> str:
    texts = [f"{pool}/{device}" for pool, device in some[:SHOWN]]
    return ", ".join([*texts, *(["..."] if len(some) > SHOWN else [])])


def must_be_repeated(
    some: Iterable[Stream], *, published: Callable[[Name, float, float], bool]
) -> None:
    """No report of a device has run out before the next one came, or the stream's end.

    Args:
        some: streams.
        published: whether a device was there the whole time between two moments.
    """
    for stream in some:
        if not stream.left_out:
            _must_be_repeated(stream, published)


def _must_be_repeated(stream: Stream, published: Callable[[Name, float, float], bool]) -> None:
    last: dict[Name, tuple[Entry[HealthReport], float]] = {}

    def look(name: Name, at: float, what: str, proof: tuple[int, ...]) -> None:
        entry, lease = last[name]
        if at - entry.at < lease or not published(name, entry.at + lease, at):
            return
        raise Violation(
            f"health of device {name[1]!r} of pool {name[0]!r}",
            got=f"{at - entry.at:.1f} s {what}",
            want=f"the next report before {lease:g} s have passed",
            proof=(entry.serial, *proof),
        )

    for entry, device in told([stream]):
        name = name_of(device)
        if name in last:
            look(name, entry.at, "between two reports", (entry.serial,))
        last[name] = entry, lease_s(device)
    for name in last:
        look(name, stream.until, "since the last report", ())


def messages_must_be_short(some: Iterable[Stream]) -> None:
    """No message is longer than pod status takes."""
    for entry, device in told(some):
        size = len(device["message"].encode())
        if size > MESSAGE_BYTES:
            raise _of_message(
                entry, device, got=f"{size} bytes", want=f"at most {MESSAGE_BYTES} bytes"
            )


def messages_must_be_fit_to_be_cut(some: Iterable[Stream]) -> None:
    """A message that a kubelet cuts is not cut inside a character."""
    for entry, device in told(some):
        data = device["message"].encode()
        if len(data) > MESSAGE_BYTES and not _decodes(data[:CUT_BYTES]):
            raise _of_message(
                entry,
                device,
                got=f"{len(data)} bytes with a character across byte {CUT_BYTES}",
                want=f"at most {MESSAGE_BYTES} bytes, or a character that begins at {CUT_BYTES}",
            )


def _decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _of_message(entry: Entry[HealthReport], device: Json, *, got: str, want: str) -> Violation:
    pool, name = name_of(device)
    return Violation(
        f"message of device {name!r} of pool {pool!r} in a health report",
        got=got,
        want=want,
        proof=(entry.serial,),
    )


def times_must_be_plausible(some: Iterable[Stream], *, epoch: float) -> None:
    """``last_updated_time`` lies not in the future and does not go back; 0 is unknown.

    Args:
        some: streams.
        epoch: the Unix time at which the timeline began.
    """
    for stream in some:
        last: dict[Name, int] = {}
        for entry, device in told([stream]):
            given, name = device["last_updated_time"], name_of(device)
            now = epoch + entry.at
            if given > now + AHEAD_S:
                raise _of_time(entry, name, f"{given - now:.0f} s in the future", "the past")
            if given and given < last.get(name, 0):
                got = f"{given}, after {last[name]}"
                raise _of_time(entry, name, got, "a time that does not go back")
            last[name] = given or last.get(name, 0)


def _of_time(entry: Entry[HealthReport], name: Name, got: str, want: str) -> Violation:
    return Violation(
        f"last_updated_time of device {name[1]!r} of pool {name[0]!r}",
        got=got,
        want=want,
        proof=(entry.serial,),
    )


def must_not_be_given_up(some: Iterable[Stream]) -> None:
    """No stream has ended with the status that ends all watching."""
    for stream in some:
        if stream.ended is not None and stream.ended.event.code == UNIMPLEMENTED:
            raise Violation(
                f"the end of a stream of {stream.service}, after {len(stream.reports)} reports",
                got=f"{UNIMPLEMENTED}: {stream.ended.event.details}",
                want="any other status: the kubelet never opens it again after this one",
                proof=(stream.ended.serial,),
            )


def service_must_be_advertised(versions: Sequence[str], *, known: Sequence[str]) -> None:
    """A kubelet finds a health service that it knows among those of GetInfo."""
    if not set(versions) & set(known):
        raise Violation(
            "GetInfo.supported_versions of a driver with DeviceHealth",
            got=list(versions),
            want=f"{' or '.join(known)} as well",
        )
