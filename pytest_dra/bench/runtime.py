"""What a driver may want of a container runtime, which the bench has none of."""

from __future__ import annotations

from typing import Final

from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Injection
from pytest_dra.spec import Case
from pytest_dra.spec import UnsupportedEnvironment

COMING_UP: Final = frozenset({"REG-001", "SLICE-001"})
"""The cases that say that a driver has come up: it listens, and it publishes."""


def runtime_wanted(case: Case, profile: DriverProfile) -> UnsupportedEnvironment | None:
    """Why a driver that has not come up is not to blame; None where it is.

    A plugin of NRI may wait for the socket of the runtime before it does anything else, or end
    without it. Whether it would come up beside one, only a real node shows.
    """
    if case.id not in COMING_UP or profile.injection.kind is not Injection.NRI:
        return None
    return UnsupportedEnvironment(
        "the driver has not come up; it injects by NRI (injection.kind), and here is no runtime "
        "with an NRI socket that it could wait for",
        way_out="--dra-cluster=kind",
    )
