"""Rights to parts of a claim's status (1.36 and later): who may bind, and who reports devices.

A change of allocation or reservations needs ``resourceclaims/binding``; a change of a driver's
device entries needs ``resourceclaims/driver`` with that driver as resource name and the verb
``associated-node:<verb>`` (the claim is allocated to the node of the user's token) or
``arbitrary-node:<verb>``.
"""

from __future__ import annotations

from typing import Final

from pytest_dra.api.resources import RESOURCE_GROUP
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.spec import Json

GATE: Final = "DRAResourceClaimGranularStatusAuthorization"

NODE_NAME: Final = "authentication.kubernetes.io/node-name"


def check(new: Json, old: Json, ctx: Context, report: Report) -> None:
    """Note what the user may not do to the status."""
    if ctx.user is None or ctx.allows is None or not ctx.version.enabled(GATE):
        return
    status, before = new["status"], old["status"]
    name = old["metadata"]["name"]
    binds = any(
        (status.get(part) or None) != (before.get(part) or None)
        for part in ("allocation", "reservedFor")
    )
    if binds and not _may(ctx, ctx.verb, "binding", name):
        report.forbidden("status.allocation", f"needs {ctx.verb} of resourceclaims/binding")
    if status.get("allocation") is None and before.get("allocation") is not None:
        # the entries of devices go with their allocation, whoever takes that away
        return
    for driver in sorted(_changed(status, before)):
        if not _may_report(ctx, driver, status):
            report.forbidden(
                "status.devices",
                f"changing entries of driver {driver!r} needs associated-node:{ctx.verb} "
                f"or arbitrary-node:{ctx.verb} of resourceclaims/driver",
            )


def _changed(status: Json, before: Json) -> set[str]:
    """The drivers whose device entries are new, other or gone."""
    new, old = _entries(status), _entries(before)
    return {key[0] for key in new.keys() | old.keys() if new.get(key) != old.get(key)}


def _entries(status: Json) -> dict[tuple[str, ...], Json]:
    return {
        (entry["driver"], entry["pool"], entry["device"], entry.get("shareID") or ""): entry
        for entry in status.get("devices") or []
    }


def _may_report(ctx: Context, driver: str, status: Json) -> bool:
    if _may(ctx, f"arbitrary-node:{ctx.verb}", "driver", driver):
        return True
    node = (ctx.user.extra.get(NODE_NAME) or ("",))[0] if ctx.user else ""
    if not node or _node_of(status) != node:
        return False
    return _may(ctx, f"associated-node:{ctx.verb}", "driver", driver)


def _node_of(status: Json) -> str:
    """The node that an allocation is pinned to by name; "" if there is none or a choice."""
    selector = (status.get("allocation") or {}).get("nodeSelector") or {}
    terms = selector.get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields = terms[0].get("matchFields") or []
    if len(fields) != 1:
        return ""
    field = fields[0]
    values = field.get("values") or []
    pinned = field.get("key") == "metadata.name" and field.get("operator") == "In"
    return str(values[0]) if pinned and len(values) == 1 else ""


def _may(ctx: Context, verb: str, subresource: str, name: str) -> bool:
    if ctx.user is None or ctx.allows is None:
        return True
    return ctx.allows(
        Attempt(
            user=ctx.user,
            verb=verb,
            group=RESOURCE_GROUP,
            resource="resourceclaims",
            subresource=subresource,
            namespace=ctx.namespace,
            name=name,
        )
    )
