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
