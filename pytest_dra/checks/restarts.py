"""What a restart may change of a driver's slices, and what it may not."""

from __future__ import annotations

import json
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from pytest_dra.checks.pools import by_pool
from pytest_dra.checks.pools import generation_of
from pytest_dra.checks.pools import text_of
from pytest_dra.spec import Json
from pytest_dra.spec import Violation


def device_must_stay(
    slices: Iterable[Json], *, pool: str, device: Json, volatile: Collection[str]
) -> None:
    """A device that a claim holds is in the same pool, with its name and attributes.

    Args:
        slices: after the restart.
        pool: name of the pool that had it.
        device: its entry before.
        volatile: attributes that may change (``driver.volatile_attributes``).
    """
    name = device.get("name")
    for item in slices:
        spec = item.get("spec") or {}
        for found in spec.get("devices") or []:
            if (spec.get("pool") or {}).get("name") == pool and found.get("name") == name:
                was, now = _attributes(device, volatile), _attributes(found, volatile)
                for key in sorted({*was, *now}):
                    if was.get(key) != now.get(key):
                        raise Violation(
                            f"attribute {key!r} of device {name!r} in pool {pool!r} after a "
                            "restart of the driver",
                            got=now.get(key),
                            want=f"{was.get(key)!r} as before",
                        )
                return
    raise Violation(
        f"device {name!r} of pool {pool!r}, held by a claim, after a restart of the driver",
        got="not published any more",
        want="the same device under the same name in the same pool",
    )


def slices_must_be_equal(
    after: Iterable[Json], *, before: Iterable[Json], volatile: Collection[str], restart: int
) -> None:
    """The slices say the same as before, devices in the same order.

    Names of slices and generations may differ, and attributes that are volatile.
    """
    was, now = _contents(before, volatile), _contents(after, volatile)
    for key in sorted({*was, *now}):
        if was.get(key) != now.get(key):
            raise Violation(
                f"pool {key[1]!r} after restart {restart}",
                got=_difference(was.get(key, []), now.get(key, [])),
                want="slices that say the same as before, devices in the same order",
            )


def must_live_without_devices(*, obituary: str, registered: bool, slices: Iterable[Json]) -> None:
    """A driver without a device runs, answers, and publishes no device.

    Args:
        obituary: how it ended by itself; empty while it runs.
        registered: its socket answers.
        slices: what it publishes.
    """
    where = "start without a device"
    if obituary:
        raise Violation(where, got=obituary, want="a running driver")
    if not registered:
        raise Violation(where, got="not registered", want="a driver that answers GetInfo")
    for item in slices:
        devices = (item.get("spec") or {}).get("devices") or []
        if devices:
            raise Violation(
                where,
                got=f"a slice with {len(devices)} devices, such as {devices[0].get('name')!r}",
                want="one slice without devices (preferred), or none",
            )


def _attributes(device: Json, volatile: Collection[str]) -> Json:
    found = device.get("attributes") or {}
    return {key: value for key, value in found.items() if key not in volatile}


def _contents(
    slices: Iterable[Json], volatile: Collection[str]
) -> dict[tuple[str, str], list[list[str]]]:
    """By pool, the devices of each slice as texts; of the newest generation alone."""
    made = {}
    for key, members in by_pool(slices).items():
        newest = max(map(generation_of, members))
        made[key] = sorted(
            [
                text_of({**device, "attributes": _attributes(device, volatile)})
                for device in (item.get("spec") or {}).get("devices") or []
            ]
            for item in members
            if generation_of(item) == newest
        )
    return made


def _difference(was: Sequence[Sequence[str]], now: Sequence[Sequence[str]]) -> str:
    old, new = ([text for each in found for text in each] for found in (was, now))
    if sorted(old) == sorted(new):
        return "the same devices in another order"
    gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
    shown: list[Any] = [json.loads(text).get("name") for text in (*gone, *come)][:3]
    return f"other devices, or devices that say something else: {', '.join(map(str, shown))}"


def must_end_in_time(*, ended: bool, within_s: float, during: str) -> None:
    """SIGTERM has ended the driver.

    Args:
        ended: all of its processes had ended by themselves.
        within_s: the time that they had.
        during: the claim whose Prepare was running.
    """
    if not ended:
        raise Violation(
            f"SIGTERM during Prepare of {during}",
            got=f"the driver still ran {within_s:g} s later",
            want="its end within the grace period of a pod",
        )
