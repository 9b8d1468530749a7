"""Taints of published devices."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Final

from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.flaws import device_text
from pytest_dra.checks.flaws import devices_of
from pytest_dra.checks.flaws import driver_of
from pytest_dra.checks.pools import text_of
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

_KUBERNETES: Final = ("kubernetes.io", "k8s.io")


def are_used(slices: Iterable[Json]) -> bool:
    """True if a device has a taint."""
    return any(device.get("taints") for _, _, device in devices_of(slices))


def keys_must_have_a_domain(slices: Iterable[Json], *, domains: Collection[str]) -> Iterator[Flaw]:
    """The key of each taint has the driver's name or a domain of the vendor before its slash.

    Args:
        slices: as published.
        domains: of the vendor; none: any domain that is not Kubernetes' own.
    """
    for item, path, device in devices_of(slices):
        for index, taint in enumerate(device.get("taints") or []):
            key = str(taint.get("key", ""))
            domain = key.rpartition("/")[0]
            kubernetes = any(domain == own or domain.endswith(f".{own}") for own in _KUBERNETES)
            legal = {driver_of(item), *domains}
            if not domain or kubernetes or (domains and domain not in legal):
                yield Flaw(
                    item=item,
                    field=f"{path}.taints[{index}].key",
                    where=f"taint of {device_text(item, device)}",
                    got=key,
                    want=f"a key like {driver_of(item)}/{key.rpartition('/')[2] or 'name'}",
                )


def informational_must_have_no_effect(
    slices: Iterable[Json], *, keys: Collection[str]
) -> Iterator[Flaw]:
    """Taints with these keys have the effect ``None``."""
    for item, path, device in devices_of(slices):
        for index, taint in enumerate(device.get("taints") or []):
            if taint.get("key") in keys and taint.get("effect") != "None":
                yield Flaw(
                    item=item,
                    field=f"{path}.taints[{index}].effect",
                    where=f"taint {taint['key']} of {device_text(item, device)}",
                    got=taint.get("effect"),
                    want="None, since the taint only informs",
                )


def must_be_tainted(now: Json | None, *, device: str, within_s: float) -> None:
    """A device that has become faulty is still there, and has a taint.

    Args:
        now: as it is published; None if it is not.
        device: its name.
        within_s: how long ago it became faulty.
    """
    if now is None or not now.get("taints"):
        raise Violation(
            f"device {device!r}, which has become faulty",
            got="not published any more" if now is None else "published without a taint",
            want=f"published with a taint within {within_s:g} s",
        )


def must_be_as_before(now: Json | None, before: Json, *, device: str, within_s: float) -> None:
    """A device that has been healed is published as it was."""
    if now is None or text_of(now) != text_of(before):
        raise Violation(
            f"device {device!r}, which has been healed",
            got=now if now is None else f"taints {now.get('taints') or []}",
            want=f"as before it was faulty, within {within_s:g} s",
        )


NOTICED_S: Final = 60.0
"""Deadline for a driver to show that a device has become faulty or healthy."""

CLOSING: Final = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep new claims away."""


def is_closed(now: Json | None) -> bool:
    """True if no new claim gets a device: it is gone, or has a taint that keeps them away."""
    return now is None or any(taint.get("effect") in CLOSING for taint in now.get("taints") or [])


def must_be_closed(now: Json | None, *, device: str, within_s: float) -> None:
    """A device that has become faulty is not offered any more."""
    if not is_closed(now):
        raise Violation(
            f"device {device!r}, which has become faulty",
            got=f"published with taints {(now or {}).get('taints') or []}",
            want=f"gone, or with a taint NoSchedule or NoExecute, within {within_s:g} s",
        )


def times_of(device: Json | None) -> dict[tuple[str, str, str], str]:
    """``timeAdded`` of a device's taints, by key, value and effect."""
    return {
        (str(taint.get("key")), str(taint.get("value") or ""), str(taint.get("effect"))): str(
            taint.get("timeAdded")
        )
        for taint in (device or {}).get("taints") or []
    }


def times_must_stay(before: Json, now: Json | None, *, device: str, after: str) -> None:
    """The taints of a device that are as before have been there since the same time.

    Args:
        before: the device as it was published.
        now: as it is published; what has gone is another case's matter.
        device: its name.
        after: what has made the driver publish again.
    """
    old, new = times_of(before), times_of(now)
    for taint, time in old.items():
        if new.get(taint, time) != time:
            raise Violation(
                f"timeAdded of taint {taint[0]} of device {device!r} after {after}",
                got=new[taint],
                want=f"{time}, as before: the taint is the same",
            )


def times_must_not_be_all_that_changes(
    changes: Iterable[tuple[int, Json, Json]], *, most: int
) -> None:
    """There are not several updates of a slice that change nothing but times of taints.

    Args:
        changes: serial of each update, and the slice before and after it.
        most: so many are let pass.
    """
    idle = [
        (serial, after)
        for serial, before, after in changes
        if _times_in(before) != _times_in(after) and _without_times(before) == _without_times(after)
    ]
    if len(idle) > most:
        name = str((idle[0][1].get("metadata") or {}).get("name"))
        raise Violation(
            f"updates of ResourceSlice {name} and others",
            got=f"{len(idle)} that change nothing but timeAdded of taints",
            want="timeAdded as the server has it, and no update without a reason",
            proof=tuple(serial for serial, _ in idle),
        )


def _times_in(item: Json) -> list[dict[tuple[str, str, str], str]]:
    return [times_of(device) for device in (item.get("spec") or {}).get("devices") or []]


def _without_times(item: Json) -> str:
    spec = item.get("spec") or {}
    devices = [
        {**device, "taints": [sorted(set(times_of(device)))]}
        for device in spec.get("devices") or []
    ]
    return text_of({**spec, "devices": devices})
