"""Which of xdist's workers judges which case: a share each, made up before anything runs.

A worker that is handed its cases a few at a time cannot begin what takes long before it is asked
for. With a share it knows all of its own, and judges those on further benches meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from typing import Final

from pytest_dra.cases import Declared

JUDGED_S: Final = 0.1
"""What a case takes that neither waits nor disturbs, with a quick driver."""

RESTART_S: Final = 0.5
"""What a case takes that ends the driver or the kubelet and has it back."""

QUIET_S: Final = 6.0
"""What the cases take that wait for quiet: they wait for the same, so that they go together."""


def shares_of(
    ids: Iterable[str], count: int, *, declared: Callable[[str], Declared]
) -> dict[str, int]:
    """Number of the share of each case, from 0; every worker comes to the same.

    The longest goes first, each to the share that has least by then.

    Args:
        ids: the cases that are to be judged.
        count: how many shares, 1 or more.
        declared: finds a case and its body.
    """
    found = {id: declared(id) for id in ids}
    quiet = [id for id, each in found.items() if _waits_for_quiet(each)]
    others = sorted(found.keys() - set(quiet), key=lambda id: (-_seconds(found[id]), id))
    shares = dict.fromkeys(quiet, 0)
    loads = [0.0] * count
    loads[0] += QUIET_S if quiet else 0.0
    for id in others:
        least = loads.index(min(loads))
        shares[id] = least
        loads[least] += _seconds(found[id])
    return shares


def _waits_for_quiet(found: Declared) -> bool:
    waits = found.settles or found.begin is not None or found.ahead is not None
    return waits and not found.apart_s


def _seconds(found: Declared) -> float:
    return found.apart_s or (RESTART_S if found.disturbs else JUDGED_S)
