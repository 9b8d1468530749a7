"""DeviceClasses, and the taint rules that administrators write."""

from __future__ import annotations

from typing import ClassVar
from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded import claimspec
from pytest_dra.embedded import devicerules
from pytest_dra.embedded.claimspec import listed
from pytest_dra.embedded.claimstatus import validate_conditions
from pytest_dra.embedded.gates import drop_class_fields
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

_EMPTY_TWICE_SINCE: Final = 36
"""From this version on an empty name breaks a declared rule besides the one in code."""


class DeviceClasses(Strategy):
    """Classes of devices."""

    generation: ClassVar[bool] = True

    def drop_gated(self, new: Json, old: Json | None, ctx: Context) -> None:
        """The extended resource name has a gate."""
        drop_class_fields(new["spec"], old["spec"] if old else None, ctx.version)

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Selectors, configuration, extended resource."""
        spec, limits = obj["spec"], ctx.version.limits
        selectors = spec.get("selectors") or []
        claimspec.validate_selectors(selectors, "spec.selectors", ctx.version, report)
        listed(
            spec.get("config") or [],
            "spec.config",
            limits.config,
            lambda config, path: claimspec.validate_opaque(config, path, limits, report),
            None,
            report,
        )
        name = spec.get("extendedResourceName")
        if name is not None:
            found = extended_resource_errors(name)
            if not name and ctx.version.minor < _EMPTY_TWICE_SINCE:
                found = found[:1]
            for error in found:
                report.invalid("spec.extendedResourceName", name, error)


def extended_resource_errors(name: str) -> list[str]:
    """A resource name with a domain that is not of Kubernetes itself, and room for a prefix."""
    domain, slash, _ = name.partition("/")
    found = []
    if not slash:
        found.append("must be a domain-prefixed path, such as example.com/name")
    elif domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
        found.append("must not be of the domain kubernetes.io")
    if name.startswith(_QUOTA):
        found.append(f"must not begin with {_QUOTA}")
    return found + names.label_key_errors(_QUOTA + name)


_QUOTA: Final = "requests."
"""What stands in front of a resource's name in a quota."""


class DeviceTaintRules(Strategy):
    """Rules that taint devices of slices."""

    generation: ClassVar[bool] = True
    status: ClassVar[bool] = True
    unconditional_update: ClassVar[bool] = False
    unconditional_status: ClassVar[bool] = False

    def default(self, obj: Json) -> None:
        """A taint without a time gets the present."""
        obj["spec"]["taint"].setdefault("timeAdded", now())

    def prepare_update(self, new: Json, old: Json, ctx: Context) -> None:
        """Another effect begins now, unless the client says when."""
        super().prepare_update(new, old, ctx)
        taint, before = new["spec"]["taint"], old["spec"]["taint"]
        if taint.get("effect") != before.get("effect") and (
            taint.get("timeAdded") == before.get("timeAdded")
        ):
            taint["timeAdded"] = now()

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Selector and taint."""
        spec = obj["spec"]
        selector = spec.get("deviceSelector") or {}
        if "driver" in selector:
            devicerules.driver(selector["driver"], "spec.deviceSelector.driver", report)
        if "pool" in selector:
            devicerules.pool(selector["pool"], "spec.deviceSelector.pool", report)
        if "device" in selector:
            error = names.dns_label_error(selector["device"])
            report.format("spec.deviceSelector.device", selector["device"], error)
        devicerules.taint(spec["taint"], "spec.taint", report)

    def validate_status(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Conditions."""
        conditions = new["status"].get("conditions") or []
        limit = ctx.version.limits.status_conditions
        if len(conditions) > limit:
            report.too_many("status.conditions", len(conditions), limit)
        validate_conditions(conditions, "status.conditions", report)
