"""Whether two containers ran at the same time, by what both wrote of their node's clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

FIRST: Final = "first"
SECOND: Final = "second"
"""Names at the beginning of the lines."""

REFUSED: Final = "FailedPrepareDynamicResources"
"""Reason of the event by which a kubelet tells that a claim could not be prepared."""


def must_not_overlap(first: str, second: str, told: str, *, warnings: Sequence[str]) -> None:
    """Judge that the second one began after the last sign of the first one.

    Args:
        first: the pod that was deleted by force, in words.
        second: its successor on the device.
        told: lines of a name and seconds since the node's start.
        warnings: what the cluster has warned of at the successor.

    Raises:
        Violation: both ran at a time, though the driver never refused the second one.
        UnsupportedEnvironment: one of them has written nothing.
    """
    stamps: dict[str, list[float]] = {FIRST: [], SECOND: []}
    for line in told.splitlines():
        name, _, time = line.partition(" ")
        if name in stamps and time.replace(".", "", 1).isdecimal():
            stamps[name].append(float(time))
    if not stamps[FIRST] or not stamps[SECOND]:
        raise UnsupportedEnvironment(
            "the pods could not write into a folder of their node",
            way_out="a cluster on which pods may have one (hostPath)",
        )
    overlap = max(stamps[FIRST]) - min(stamps[SECOND])
    if overlap > 0 and not was_refused(warnings):
        raise Violation(
            f"{first} and {second} on one device",
            got=f"the second one began {overlap:.1f} s before the last sign of the first one",
            want="it begins once the containers of the one before have gone, or is refused till "
            "then: the device is in use until it is unprepared",
        )


def was_refused(warnings: Sequence[str]) -> bool:
    """Whether the driver kept the successor off the device, by what the cluster has warned of."""
    return any(each.startswith(REFUSED) for each in warnings)
