"""Which devices claims were given on a cluster: the same one, or others."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

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
