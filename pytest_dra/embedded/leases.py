"""The strategy of leases."""

from __future__ import annotations

from typing import ClassVar

from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json


class Leases(Strategy):
    """Leases: PUT may create one, but has to name the version of an existing one."""

    create_on_update: ClassVar[bool] = True
    unconditional_update: ClassVar[bool] = False

    def drop_gated(self, new: Json, old: Json | None, ctx: Context) -> None:
        """Coordinated leader election is off unless somebody turns its gate."""
        for name in ("strategy", "preferredHolder"):
            if name not in ((old or {}).get("spec") or {}):
                new["spec"].pop(name, None)

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Durations and counts are positive, a holder is not empty."""
        spec = obj["spec"]
        if "leaseDurationSeconds" in spec and spec["leaseDurationSeconds"] <= 0:
            report.invalid(
                "spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0"
            )
        if "leaseTransitions" in spec and spec["leaseTransitions"] < 0:
            report.invalid(
                "spec.leaseTransitions",
                spec["leaseTransitions"],
                "must be greater than or equal to 0",
            )
