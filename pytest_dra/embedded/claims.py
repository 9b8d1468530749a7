"""ResourceClaims and their templates."""

from __future__ import annotations

from typing import ClassVar
from typing import Final

from pytest_dra.embedded import byhand
from pytest_dra.embedded import granular
from pytest_dra.embedded import metadata
from pytest_dra.embedded import typed
from pytest_dra.embedded.claimspec import ClaimRules
from pytest_dra.embedded.claimspec import default_spec
from pytest_dra.embedded.claimstatus import StatusRules
from pytest_dra.embedded.claimstatus import allocated
from pytest_dra.embedded.claimstatus import identity
from pytest_dra.embedded.gates import drop_claim_fields
from pytest_dra.embedded.gates import drop_status_fields
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
"""A namespace needs this label, with value ``true``, for claims with admin access."""


class ResourceClaims(Strategy):
    """Claims: the spec never changes, the status only through its subresource."""

    status: ClassVar[bool] = True

    def default(self, obj: Json) -> None:
        """Defaults of requests, and of tolerations copied into results."""
        default_spec(obj["spec"])
        allocation = obj["status"].get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or []:
            for toleration in result.get("tolerations") or []:
                toleration.setdefault("operator", "Equal")

    def drop_gated(self, new: Json, old: Json | None, ctx: Context) -> None:
        """Fields of features that are off; those of the status have gone before."""
        if not ctx.subresource:
            drop_claim_fields(new["spec"], old["spec"] if old else None, ctx.version)

    def prepare_status(self, new: Json, old: Json, ctx: Context) -> None:
        """Device statuses go with the allocation of their device, in the same write."""
        super().prepare_status(new, old, ctx)
        # 1.34 drops gated fields last, and so no longer knows the entries of shares
        last = ctx.version.minor < byhand.DECLARED_SINCE
        if not last:
            drop_status_fields(new["status"], old["status"], ctx.version)
        status, before = new["status"], old["status"]
        gone = allocated(before) - allocated(status)
        if gone and status.get("devices"):
            kept = [entry for entry in status["devices"] if identity(entry) not in gone]
            if kept:
                status["devices"] = kept
            else:
                del status["devices"]
        if last:
            drop_status_fields(status, before, ctx.version)

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """The spec, and whether admin access is allowed here."""
        ClaimRules(obj["spec"], "spec", ctx.version, report).validate()
        check_admin_access(obj["spec"], ctx, report)

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Nothing in the spec may change."""
        if typed.prune(self.kind, new)["spec"] != old["spec"]:
            report.invalid("spec", "", "field is immutable")

    def validate_status(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Allocation, reservations and device status."""
        StatusRules(new, old, ctx.version, report).validate()
        granular.check(new, old, ctx, report)
        allocation = new["status"].get("allocation")
        if allocation is None or old["status"].get("allocation") is not None:
            return
        if ctx.labels_of_namespace().get(ADMIN_LABEL) == "true":
            return
        for index, result in enumerate((allocation.get("devices") or {}).get("results") or []):
            if result.get("adminAccess"):
                report.forbidden(
                    f"status.allocation.devices.results[{index}].adminAccess",
                    f"needs the label {ADMIN_LABEL}: true on the namespace",
                )


def check_admin_access(spec: Json, ctx: Context, report: Report) -> None:
    """Admin access needs a labelled namespace. The path is the same for claims and templates."""
    for index, request in enumerate(spec["devices"].get("requests") or []):
        if not (request.get("exactly") or {}).get("adminAccess"):
            continue
        if ctx.labels_of_namespace().get(ADMIN_LABEL) != "true":
            report.forbidden(
                f"spec.devices.requests[{index}].adminAccess",
                f"needs the label {ADMIN_LABEL}: true on the namespace",
            )


class ResourceClaimTemplates(Strategy):
    """Templates: a claim's spec and the labels and annotations of claims made from it."""

    def default(self, obj: Json) -> None:
        """Defaults of the inner spec."""
        default_spec(obj["spec"]["spec"])

    def drop_gated(self, new: Json, old: Json | None, ctx: Context) -> None:
        """Fields of features that are off."""
        before = old["spec"]["spec"] if old else None
        drop_claim_fields(new["spec"]["spec"], before, ctx.version)

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Inner metadata holds labels and annotations only."""
        self._validate_spec(obj, ctx, report)
        check_admin_access(obj["spec"]["spec"], ctx, report)

    @staticmethod
    def _validate_spec(obj: Json, ctx: Context, report: Report) -> None:
        inner = obj["spec"]["metadata"]
        for name in sorted(inner):
            if name not in ("labels", "annotations") and inner[name]:
                report.forbidden(f"spec.metadata.{name}", "cannot be set")
        metadata.validate_labels(inner, report, "spec.metadata")
        ClaimRules(obj["spec"]["spec"], "spec.spec", ctx.version, report).validate()

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Nothing in the spec may change; what is wrong with the new one is told as well."""
        self._validate_spec(new, ctx, report)
        if typed.prune(self.kind, new)["spec"] != old["spec"]:
            report.invalid("spec", "", "field is immutable")
