"""Timestamps and durations: text to value and back, the parts of a moment, time zones."""

from __future__ import annotations

import datetime
import decimal
import functools
import re
from typing import Final

from pytest_dra.cel.errors import CelError
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import INT_MIN
from pytest_dra.cel.values import Duration
from pytest_dra.cel.values import Timestamp

SECOND: Final = 10**9
"""Nanoseconds in a second."""

_MINUTE: Final = 60 * SECOND
_HOUR: Final = 60 * _MINUTE
_DAY_SECONDS: Final = 86400
_MOMENT_MIN: Final = -62135596800
"""Year 1 in seconds since 1970."""
_MOMENT_MAX: Final = 253402300799
"""End of year 9999."""

_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_PART: Final = re.compile("([0-9]*)(?:\\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_UNITS: Final = {
    "ns": 1, "us": 1000, "\u00b5s": 1000, "\u03bcs": 1000, "ms": 10**6, "s": SECOND,
    "m": _MINUTE, "h": _HOUR,
}  # fmt: skip
_LIMIT: Final = 2**63
_DIGITS_MAX: Final = 30
"""Digits of one number of a duration; far more than fit, so that no text takes long."""

_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()


def timestamp_of(text: str) -> Timestamp | CelError:
    """RFC 3339, as leniently as Go reads it."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return _bad_timestamp(text)
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    zone = 0
    if match[8]:
        hours, minutes = int(match[9]), int(match[10])
        if hours > 24 or minutes > 60:
            return _bad_timestamp(text)
        zone = (hours * 60 + minutes) * (60 if match[8] == "+" else -60)
    if hour > 23 or minute > 59 or second > 59 or not 1 <= month <= 12 or day < 1:
        return _bad_timestamp(text)
    if day > _days_in(year, month):
        return _bad_timestamp(text)
    seconds = _days(year, month, day) * _DAY_SECONDS + hour * 3600 + minute * 60 + second - zone
    if not _MOMENT_MIN <= seconds <= _MOMENT_MAX:
        return CelError("overflow", "timestamp overflow")
    return Timestamp(seconds, int(((match[7] or "") + "0" * 9)[:9]), zone)


def _bad_timestamp(text: str) -> CelError:
    return CelError("conversion", f"no timestamp: {text[:60]!r}")


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970, for any year."""
    shift, years = divmod(year - 2000, 400)
    return (datetime.date(2000 + years, month, day).toordinal() - _EPOCH) + shift * 146097


def _civil(seconds: int) -> tuple[int, datetime.date]:
    """Year and a date of the same month, day and weekday, within the years Python knows."""
    days = seconds // _DAY_SECONDS
    shift, rest = divmod(days - (datetime.date(2000, 1, 1).toordinal() - _EPOCH), 146097)
    date = datetime.date.fromordinal(datetime.date(2000, 1, 1).toordinal() + rest)
    return date.year + shift * 400, date


def from_seconds(seconds: int) -> Timestamp | CelError:
    """The moment ``seconds`` after 1970."""
    if not _MOMENT_MIN <= seconds <= _MOMENT_MAX:
        return CelError("overflow", "timestamp overflow")
    return Timestamp(seconds)


def timestamp_text(value: Timestamp, *, utc: bool = False) -> str:
    """RFC 3339 in the value's own zone, or in UTC."""
    zone = 0 if utc else value.zone
    local = value.seconds + zone
    year, date = _civil(local)
    clock = local % _DAY_SECONDS
    text = (
        f"{year:04d}-{date.month:02d}-{date.day:02d}T{clock // 3600:02d}:"
        f"{clock // 60 % 60:02d}:{clock % 60:02d}"
    )
    if value.nanos:
        text += f".{value.nanos:09d}".rstrip("0")
    if zone == 0:
        return text + "Z"
    minutes = abs(zone) // 60
    return f"{text}{'+' if zone > 0 else '-'}{minutes // 60:02d}:{minutes % 60:02d}"


def duration_of(text: str) -> Duration | CelError:
    """A duration as Go writes them: ``1h30m``, ``-1.5s``, ``0``."""
    bad = CelError("conversion", f"no duration: {text[:60]!r}")
    body = text[1:] if text[:1] in ("+", "-") else text
    negative = text.startswith("-")
    if body == "0":
        return Duration(0)
    if not body:
        return bad
    total = position = 0
    while position < len(body):
        match = _PART.match(body, position)
        if match is None or not (match[1] or match[2]) or len(match[1]) > _DIGITS_MAX:
            return bad
        unit = _UNITS[match[3]]
        total += int(match[1] or "0") * unit + _fraction(match[2] or "", unit)
        if total > _LIMIT:
            return bad
        position = match.end()
    if negative:
        return Duration(-total)
    return bad if total == _LIMIT else Duration(total)


def _fraction(digits: str, unit: int) -> int:
    value, scale = 0, 1.0
    for digit in digits:
        larger = value * 10 + int(digit)
        if larger >= _LIMIT:
            break
        value, scale = larger, scale * 10
    return int(float(value) * (float(unit) / scale)) if value else 0


def seconds_of(nanos: int) -> float:
    """A duration as a number of seconds."""
    return _in_units(nanos, SECOND)


def _in_units(nanos: int, unit: int) -> float:
    whole, rest = divmod(abs(nanos), unit)
    value = float(whole) + float(rest) / float(unit)
    return value if nanos >= 0 else -value


def duration_text(value: Duration) -> str:
    """The duration in seconds, as CEL writes it."""
    seconds = seconds_of(value.nanos)
    if seconds == 0:
        return "-0s" if value.nanos < 0 else "0s"
    text = format(decimal.Decimal(repr(seconds)), "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "s"


def duration_part(value: Duration, name: str) -> int:
    """A getter of a duration: the whole of it in the unit."""
    if name == "getMilliseconds":
        whole = abs(value.nanos) // 10**6
        return whole if value.nanos >= 0 else -whole
    unit = {"getHours": _HOUR, "getMinutes": _MINUTE, "getSeconds": SECOND}[name]
    return int(_in_units(value.nanos, unit))


def timestamp_part(value: Timestamp, name: str, zone: str = "UTC") -> int | CelError:
    """A getter of a timestamp, in a time zone given by name or offset."""
    offset = _offset(value, zone)
    if isinstance(offset, CelError):
        return offset
    local = value.seconds + offset
    if name == "getHours":
        return local % _DAY_SECONDS // 3600
    if name == "getMinutes":
        return local // 60 % 60
    if name == "getSeconds":
        return local % 60
    if name == "getMilliseconds":
        return value.nanos // 10**6
    year, date = _civil(local)
    if name == "getFullYear":
        return year
    return {
        "getMonth": date.month - 1,
        "getDayOfYear": date.timetuple().tm_yday - 1,
        "getDayOfMonth": date.day - 1,
        "getDate": date.day,
        "getDayOfWeek": date.isoweekday() % 7,
    }[name]


_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}")


def _offset(value: Timestamp, zone: str) -> int | CelError:
    hours, colon, minutes = zone.partition(":")
    if colon:
        if not _NUMBER.fullmatch(hours) or not _NUMBER.fullmatch(minutes):
            return CelError("other", f"no offset: {zone[:40]!r}, want for example +02:00")
        hour, minute = int(hours), int(minutes)
        return (hour * 60 + (-minute if zone.startswith("-") else minute)) * 60
    if zone in ("", "UTC", "Local"):
        return 0
    if zone.startswith(("/", "\\")) or ".." in zone:
        return CelError("other", f"no name of a time zone: {zone[:40]!r}")
    return _named_offset(value.seconds, zone)


def _named_offset(seconds: int, zone: str) -> int | CelError:
    name = _as_path(zone)
    if not name:
        return CelError("other", f"time zone {zone[:40]!r}: a directory, or not one")
    loaded = _zone(name)
    if loaded is None:
        return CelError("time-zone", f"unknown time zone {zone[:40]}")
    # At both ends of the calendar the local date may be one that Python does not know.
    seconds = max(_MOMENT_MIN + 2 * _DAY_SECONDS, min(seconds, _MOMENT_MAX - 2 * _DAY_SECONDS))
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    local = (moment + datetime.timedelta(seconds=seconds)).astimezone(loaded)
    return int((local.utcoffset() or datetime.timedelta()).total_seconds())


def _as_path(zone: str) -> str:
    """The name as the path of a file, as the reference looks for it; "" for a directory."""
    parts = [part for part in zone.split("/") if part not in ("", ".")]
    name = "/".join(parts)
    if zone.endswith(("/", "/.")) and name in _names():
        return ""
    if any("/".join(parts[:count]) in _names() for count in range(1, len(parts))):
        return ""
    return "" if not name or name in _directories() else name


@functools.lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    import zoneinfo

    return frozenset(zoneinfo.available_timezones())


@functools.lru_cache(maxsize=1)
def _directories() -> frozenset[str]:
    names = [name.split("/") for name in _names()]
    return frozenset("/".join(name[:count]) for name in names for count in range(1, len(name)))


@functools.lru_cache(maxsize=64)
def _zone(name: str) -> datetime.tzinfo | None:
    import zoneinfo

    if ".." in name or name.startswith(("/", "\\")) or "\\" in name or "\0" in name:
        return None
    try:
        # Names are case-sensitive even where the file system is not.
        return zoneinfo.ZoneInfo(name) if name in _names() else None
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def shifted(moment: Timestamp, nanos: int) -> Timestamp | CelError:
    """A moment moved by ``nanos``."""
    total = moment.seconds * SECOND + moment.nanos + nanos
    seconds, rest = divmod(total, SECOND)
    if not _MOMENT_MIN <= seconds <= _MOMENT_MAX:
        return CelError("overflow", "timestamp overflow")
    return Timestamp(seconds, rest, moment.zone)


def between(later: Timestamp, earlier: Timestamp) -> Duration | CelError:
    """The span between two moments."""
    nanos = (later.seconds - earlier.seconds) * SECOND + later.nanos - earlier.nanos
    if not INT_MIN <= nanos <= INT_MAX:
        return CelError("overflow", "duration overflow")
    return Duration(nanos)
