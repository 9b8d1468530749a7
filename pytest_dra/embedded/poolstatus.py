"""ResourcePoolStatusRequests: a question about the pools of a driver, answered once."""

from __future__ import annotations

from typing import Any
from typing import ClassVar
from typing import Final

from pytest_dra.embedded import devicerules
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

LIMIT_DEFAULT: Final = 100
LIMIT_MAX: Final = 1000
"""Pools of one answer."""

_COUNTS: Final = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")


class PoolStatusRequests(Strategy):
    """Neither the question nor its answer can be changed."""

    status: ClassVar[bool] = True

    def default(self, obj: Json) -> None:
        """A limit."""
        obj["spec"].setdefault("limit", LIMIT_DEFAULT)

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Driver, pool and limit."""
        spec = obj["spec"]
        devicerules.driver(spec["driver"], "spec.driver", report)
        if spec.get("poolName") == "":
            report.invalid("spec.poolName", "", "segment 0: must not be empty")
        elif "poolName" in spec:
            devicerules.pool(spec["poolName"], "spec.poolName", report)
        if not 0 < spec["limit"] <= LIMIT_MAX:
            report.invalid("spec.limit", spec["limit"], f"must be between 1 and {LIMIT_MAX}")

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Nothing in the spec may change."""
        if new["spec"] != old["spec"]:
            report.invalid("spec", "", "field is immutable")

    def validate_status(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Once given, an answer stays."""
        if old.get("status") and new.get("status") != old["status"]:
            report.invalid("status", "", "field is immutable once set")


def cells(obj: Json) -> list[Any]:
    """The row of a request in a table."""
    status = obj.get("status") or {}
    pools = status.get("pools") or []
    sums = [str(sum(pool.get(name, 0) for pool in pools)) for name in _COUNTS]
    errors = sum(1 for pool in pools if pool.get("validationError"))
    complete = [
        found
        for found in status.get("conditions") or []
        if found["type"] == "Complete" and found["status"] == "True"
    ]
    return [
        obj["metadata"]["name"],
        obj["spec"]["driver"],
        *sums,
        str(errors),
        status.get("poolCount", 0),
        "Complete" if complete else "Pending",
        complete[0]["lastTransitionTime"] if complete else "<none>",
    ]
