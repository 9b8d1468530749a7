"""Which devices claims were given on a cluster: the same one, or others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

SLICES_SHOWN: Final = 3
"""Slices that stand in a message."""

Held = Sequence[tuple[str, str, str]]
"""Driver, pool and device of each result of an allocation."""


def same_device(first: Held, second: Held) -> None:
    """Judge nothing of what ``samples.pin`` finds: it has to find one device.

    Raises:
        UnsupportedEnvironment: two claims with it got different ones.
    """
    if list(first) != list(second):
        raise UnsupportedEnvironment(
            f"samples.pin selects several devices: {shown(first)}, then {shown(second)}",
            way_out="give a selector of one device",
        )


def other_devices(first: Held, second: Held) -> None:
    """Judge that two claims hold nothing in common.

    Raises:
        Violation: they do.
    """
    common = sorted(set(first) & set(second))
    if common:
        raise Violation(
            "allocations of two claims at the same time",
            got=f"both hold {shown(common)}",
            want="devices of their own",
        )


def of_both(held: Held, first: str, second: str) -> None:
    """Make sure that a claim holds a device of either driver.

    Raises:
        UnsupportedEnvironment: it does not, which is none of the driver's business.
    """
    found = {driver for driver, _, _ in held}
    if not {first, second} <= found:
        raise UnsupportedEnvironment(
            f"the scheduler allocated {shown(held)}, not of both {first} and {second}",
            way_out="a cluster whose scheduler allocates claims of two drivers",
        )


def shown(held: Held) -> str:
    """Devices as ``pool/device``, or what stands for none."""
    return ", ".join(f"{pool}/{device}" for _, pool, device in held) or "no device"


def alternative(results: Sequence[Json], wanted: str) -> None:
    """Make sure that the scheduler chose this alternative (``request/subrequest``).

    Raises:
        UnsupportedEnvironment: it did not, which is none of the driver's business.
    """
    found = [str(each.get("request")) for each in results]
    if found != [wanted]:
        raise UnsupportedEnvironment(
            f"the scheduler allocated {', '.join(found) or 'nothing'}, not {wanted}",
            way_out="a cluster whose scheduler knows prioritized lists",
        )


def no_slices(left: Sequence[Json], *, driver: str, within_s: float) -> None:
    """Judge what an uninstalled driver has left.

    Raises:
        Violation: slices.
    """
    if left:
        names = [
            f"{each['metadata']['name']} ({_place(each['spec'])})" for each in left[:SLICES_SHOWN]
        ]
        raise Violation(
            f"ResourceSlices of {driver} after its manifests were deleted",
            got=f"{len(left)}: {', '.join(names)}",
            want=f"none after {within_s:g} s: the kubelet removes those of its node, the driver "
            "has to remove all others",
        )


def _place(spec: Json) -> str:
    if spec.get("nodeName"):
        return f"of node {spec['nodeName']}"
    return "of all nodes" if spec.get("allNodes") else "of some nodes"


def same_containers(
    before: Sequence[tuple[str, str, int]],
    after: Sequence[tuple[str, str, int]],
    *,
    pod: str,
    what: str,
) -> None:
    """Judge that the containers of a pod went on running.

    Args:
        before: name, id and restarts of each container.
        after: the same, later.
        pod: in words.
        what: what was restarted meanwhile.

    Raises:
        Violation: they did not.
    """
    if list(before) != list(after):
        raise Violation(
            f"containers of {pod} after a restart of {what}",
            got=f"{_told(after)}, before {_told(before)}",
            want="the same ids and numbers of restarts: only Unprepare ends the use of a device",
        )


def _told(containers: Sequence[tuple[str, str, int]]) -> str:
    told = (f"{name} {id[-12:]} restarted {times} times" for name, id, times in containers)
    return "; ".join(told) or "no container"
