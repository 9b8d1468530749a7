"""Devices that come and go while the driver runs."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from pytest_dra.spec import Violation

Pair = tuple[str, str]
"""Pool and device, by name."""

Face = str
"""What tells one device from another beside its name: its attributes as one text."""


def one_must_be_gone(gone: Collection[Pair], *, within_s: float) -> None:
    """Something is published no more, or has a taint."""
    if not gone:
        raise Violation(
            "slices after hooks.hotplug.remove",
            got=f"all devices still there {within_s:g} s later",
            want="the removed device gone or tainted",
        )


def all_must_be_back(missing: Collection[Pair], *, within_s: float) -> None:
    """What had gone is there again under the same name."""
    if missing:
        pool, name = sorted(missing)[0]
        raise Violation(
            "slices after hooks.hotplug.add",
            got=f"no device {name} in pool {pool} {within_s:g} s later",
            want="the added device back under its name",
        )


def names_must_stay(
    before: Mapping[Pair, Face], after: Mapping[Pair, Face], *, during: str
) -> None:
    """No name has passed to another device.

    Args:
        before: the devices with what tells them apart.
        after: the same later.
        during: what was done meanwhile.
    """
    names = {face: pair for pair, face in before.items()}
    unmistakable = len(names) == len(before)
    for pair, face in sorted(after.items()):
        former = names.get(face)
        if unmistakable and former is not None and former != pair and pair in before:
            raise Violation(
                f"device {pair[1]} of pool {pair[0]} after {during}",
                got=f"the attributes that device {former[1]} had",
                want="the same device under the same name",
            )
