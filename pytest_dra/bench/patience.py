"""Deadlines that are lifted, for a driver that stands still in a debugger."""

from __future__ import annotations

import dataclasses
from typing import Final

from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Case
from pytest_dra.spec import UnsupportedEnvironment

LIFTED_S: Final = 3600.0
"""What is left of a deadline that is lifted: longer than anybody looks at one breakpoint."""

OF_TIME: Final = frozenset(
    {"PREP-015", "PREP-019", "PREP-022", "REG-012", "REG-014", "REG-015", "RST-013", "UNP-013"}
)
"""Cases that judge how long an answer, an end or a return takes."""


def kubelet_settings(*, patient: bool) -> KubeletSettings:
    """The kubelet's own deadlines, or lifted ones; its pauses stay what they are."""
    if not patient:
        return KubeletSettings()
    return KubeletSettings(
        dial_s=LIFTED_S,
        get_info_s=LIFTED_S,
        notify_s=LIFTED_S,
        call_s=LIFTED_S,
        connect_s=LIFTED_S,
        least_s=LIFTED_S,
    )


def lifted(profile: DriverProfile) -> DriverProfile:
    """The profile with budgets that a stop at a breakpoint does not exceed."""
    budgets = dataclasses.replace(
        profile.budgets,
        start=LIFTED_S,
        publish=LIFTED_S,
        repair=LIFTED_S,
        prepare=LIFTED_S,
        unprepare=LIFTED_S,
        binding=LIFTED_S,
    )
    return dataclasses.replace(profile, budgets=budgets)


def time_is_not_judged(case: Case) -> UnsupportedEnvironment | None:
    """Why the case cannot be judged without deadlines; None if it can."""
    if case.id not in OF_TIME:
        return None
    return UnsupportedEnvironment(
        "deadlines are lifted, so lateness is not judged", way_out="--dra-deadlines=kept"
    )
