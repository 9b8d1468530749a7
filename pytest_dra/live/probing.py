"""What the injection probe of the profile says of the devices in a container."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection
from collections.abc import Mapping

from pytest_dra.spec import Violation


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """What a probe lists: the lines that begin with a kind of device, each the name of one."""

    lines: tuple[str, ...]
    counts: Mapping[str, int]

    @classmethod
    def of(cls, output: str, kinds: Collection[str]) -> Seen:
        """Read what a probe has printed; a line is of the longest kind that it begins with."""
        found: dict[str, str] = {}
        for line in map(str.strip, output.splitlines()):
            meant = [kind for kind in kinds if line.startswith(kind)]
            if meant:
                found[line] = max(meant, key=len)
        return cls(tuple(sorted(found)), Counter(found.values()))


def devices_must_be_seen(
    where: str, seen: Seen, expect: Mapping[str, int], *, devices: int
) -> None:
    """Judge that a container sees what so many devices of its claims bring, and no more.

    Args:
        where: the container, in words.
        seen: what the probe printed there.
        expect: lines of each kind for one device.
        devices: how many devices the container uses.

    Raises:
        Violation: the counts are others.
    """
    want = {kind: number * devices for kind, number in expect.items()}
    got = {kind: seen.counts.get(kind, 0) for kind in want}
    if got != want:
        raise Violation(
            f"injection.probe in {where}",
            got=f"{_spelled(got)} ({', '.join(seen.lines) or 'no line'})",
            want=f"{_spelled(want)}: {devices} device{'' if devices == 1 else 's'} allocated to it",
        )


def devices_must_differ(first: str, second: str, one: Seen, other: Seen) -> None:
    """Judge that two containers see no device in common.

    Raises:
        Violation: a line of one stands in the other as well.
    """
    common = sorted(set(one.lines) & set(other.lines))
    if common:
        raise Violation(
            f"injection.probe in {first} and {second}",
            got=f"both see {', '.join(common)}",
            want="devices of their own, as allocated",
        )


def devices_must_be_the_same(where: str, first: str, second: str, one: Seen, other: Seen) -> None:
    """Judge that two containers of a pod see the same devices.

    Raises:
        Violation: a line stands in one of them alone.
    """
    if one.lines != other.lines:
        raise Violation(
            f"injection.probe in {where}, containers {first} and {second}",
            got=f"{', '.join(one.lines) or 'no line'} and {', '.join(other.lines) or 'no line'}",
            want="the same devices: both use one claim",
        )


def _spelled(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
