"""The columns of ``kubectl get``: their titles, and the cells of one object."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from typing import Final

from pytest_dra.embedded import poolstatus
from pytest_dra.spec import Json

Cells = Callable[[Json], list[Any]]
"""Makes the cells of an object, in the order of the columns."""

_AGE_STEPS: Final = ((86400 * 2, 86400, "d"), (7200, 3600, "h"), (120, 60, "m"), (0, 1, "s"))
"""From which age on a unit is used: 119s, 2m, 119m, 2h, 47h, 2d."""


def since(time: str | None) -> str:
    """The time that has passed, as a text such as ``5m``."""
    if not time:
        return "<unknown>"
    then = datetime.datetime.fromisoformat(time.replace("Z", "+00:00"))
    passed = datetime.datetime.now(datetime.timezone.utc) - then
    seconds = max(0, int(passed.total_seconds()))
    for least, unit, letter in _AGE_STEPS:
        if seconds >= least:
            return f"{seconds // unit}{letter}"
    return "0s"


def definitions(kind: str) -> tuple[list[Json], Cells]:
    """Column definitions and cells of a kind."""
    titles, cells = _KINDS.get(kind, _OTHERS)
    return [
        {
            "name": title.lstrip("+#@"),
            "type": _TYPES.get(title[0], "string"),
            "format": "name" if title.lstrip("+") == "Name" else "",
            "description": f"{title.lstrip('+#@')} of the {kind}",
            "priority": int(title.startswith("+")),
        }
        for title in titles
    ], cells


def _name(obj: Json) -> str:
    return str(obj["metadata"].get("name", ""))


def _age(obj: Json) -> str:
    return since(obj["metadata"].get("creationTimestamp"))


def _slice(obj: Json) -> list[Any]:
    spec = obj["spec"]
    return [_name(obj), spec.get("nodeName", ""), spec["driver"], spec["pool"]["name"], _age(obj)]


def _claim(obj: Json) -> list[Any]:
    states = ["deleted"] if "deletionTimestamp" in obj["metadata"] else []
    status = obj["status"]
    if status.get("allocation") is None:
        states = states or ["pending"]
    else:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return [_name(obj), ",".join(states), _age(obj)]


def _taint_rule(obj: Json) -> list[Any]:
    taint = obj["spec"]["taint"]
    added = since(taint.get("timeAdded"))
    return [_name(obj), taint["key"], taint.get("value", ""), taint["effect"], added, _age(obj)]


def _node(obj: Json) -> list[Any]:
    status = obj["status"]
    ready = [found for found in status.get("conditions") or [] if found["type"] == "Ready"]
    state = "Unknown"
    if ready:
        state = "Ready" if ready[0]["status"] == "True" else "NotReady"
    if obj["spec"].get("unschedulable"):
        state += ",SchedulingDisabled"
    addresses = {found["type"]: found["address"] for found in status.get("addresses") or []}
    info = status["nodeInfo"]
    return [
        _name(obj),
        state,
        ",".join(_roles(obj["metadata"].get("labels") or {})) or "<none>",
        _age(obj),
        info["kubeletVersion"],
        addresses.get("InternalIP", "<none>"),
        addresses.get("ExternalIP", "<none>"),
        info["osImage"] or "<unknown>",
        info["kernelVersion"] or "<unknown>",
        info["containerRuntimeVersion"] or "<unknown>",
    ]


def _roles(labels: Json) -> list[str]:
    found = {name[len(_ROLES) :] for name in labels if name.startswith(_ROLES)}
    return sorted(name for name in found | {labels.get(_ROLE, "")} if name)


_ROLES: Final = "node-role.kubernetes.io/"
_ROLE: Final = "kubernetes.io/role"
"""Labels that tell a node's role: by the key, or by the value."""


def _pod(obj: Json) -> list[Any]:
    status = obj["status"]
    containers = status.get("containerStatuses") or []
    ready = sum(1 for found in containers if found.get("ready"))
    restarts = sum(found.get("restartCount", 0) for found in containers)
    return [
        _name(obj),
        f"{ready}/{len(obj['spec'].get('containers') or [])}",
        "Terminating" if "deletionTimestamp" in obj["metadata"] else status.get("phase", ""),
        str(restarts),
        _age(obj),
        status.get("podIP", "<none>"),
        obj["spec"].get("nodeName", "<none>"),
        status.get("nominatedNodeName", "<none>"),
        "<none>",
    ]


def _event(obj: Json) -> list[Any]:
    about = obj["involvedObject"]
    last = obj.get("lastTimestamp") or obj.get("eventTime")
    return [
        since(last),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        _source(obj),
        obj.get("message", "").strip(),
        since(obj.get("firstTimestamp") or last),
        obj.get("count", 0) or (obj.get("series") or {}).get("count", 0) or 1,
        _name(obj),
    ]


def _source(event: Json) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {host}" if host else component


def _lease(obj: Json) -> list[Any]:
    return [_name(obj), obj["spec"].get("holderIdentity", ""), _age(obj)]


def _config_map(obj: Json) -> list[Any]:
    count = len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
    return [_name(obj), count, _age(obj)]


def _secret(obj: Json) -> list[Any]:
    return [_name(obj), obj.get("type", ""), len(obj.get("data") or {}), _age(obj)]


def _namespace(obj: Json) -> list[Any]:
    return [_name(obj), obj["status"].get("phase", ""), _age(obj)]


def _binding(obj: Json) -> list[Any]:
    role, subjects = obj["roleRef"], obj.get("subjects") or []
    users, groups = (
        ", ".join(found["name"] for found in subjects if found["kind"] == kind)
        for kind in ("User", "Group")
    )
    accounts = ", ".join(
        f"{found.get('namespace', '')}/{found['name']}"
        for found in subjects
        if found["kind"] == "ServiceAccount"
    )
    return [_name(obj), f"{role['kind']}/{role['name']}", _age(obj), users, groups, accounts]


def _definition(obj: Json) -> list[Any]:
    return [_name(obj), obj["metadata"].get("creationTimestamp", "")]


def _policy(obj: Json) -> list[Any]:
    spec = obj["spec"]
    param = spec.get("paramKind") or {}
    shown = f"{param.get('apiVersion', '')}/{param.get('kind', '')}" if param else "<unset>"
    return [_name(obj), len(spec.get("validations") or []), shown, _age(obj)]


def _policy_binding(obj: Json) -> list[Any]:
    spec = obj["spec"]
    param = (spec.get("paramRef") or {}).get("name", "<unset>")
    return [_name(obj), spec.get("policyName", ""), param, _age(obj)]


_POOLS: Final = "Name Driver Total Available Allocated Unavailable Errors #Pools Status Completed"


def _plain(obj: Json) -> list[Any]:
    return [_name(obj), _age(obj)]


_OTHERS: Final[tuple[tuple[str, ...], Cells]] = (("Name", "Age"), _plain)

_NODE: Final = "Name Status Roles Age Version +Internal-IP +External-IP +OS-Image +Kernel-Version"
_POD: Final = ("Name", "Ready", "Status", "Restarts", "Age", "+IP", "+Node", "+Nominated Node")
_BINDING: Final = ("Name", "Role", "Age", "+Users", "+Groups", "+ServiceAccounts")
_EVENT: Final = ("Last Seen", "Type", "Reason", "Object", "+Subobject", "+Source", "Message")

_KINDS: Final[Mapping[str, tuple[tuple[str, ...], Cells]]] = MappingProxyType(
    {
        "ResourceSlice": (("Name", "Node", "Driver", "Pool", "Age"), _slice),
        "ResourceClaim": (("Name", "State", "Age"), _claim),
        "DeviceTaintRule": (("Name", "Key", "Value", "Effect", "TimeAdded", "Age"), _taint_rule),
        "Node": ((*_NODE.split(), "+Container-Runtime"), _node),
        "Pod": ((*_POD, "+Readiness Gates"), _pod),
        "ResourcePoolStatusRequest": (tuple(_POOLS.split()), poolstatus.cells),
        "Event": ((*_EVENT, "+First Seen", "+Count", "+Name"), _event),
        "Lease": (("Name", "Holder", "Age"), _lease),
        "ConfigMap": (("Name", "Data", "Age"), _config_map),
        "Secret": (("Name", "Type", "Data", "Age"), _secret),
        "Namespace": (("Name", "Status", "Age"), _namespace),
        "Role": (("Name", "@Created At"), _definition),
        "ClusterRole": (("Name", "@Created At"), _definition),
        "RoleBinding": (_BINDING, _binding),
        "ClusterRoleBinding": (_BINDING, _binding),
        "CustomResourceDefinition": (("Name", "@Created At"), _definition),
        "ValidatingAdmissionPolicy": (("Name", "#Validations", "ParamKind", "Age"), _policy),
        "ValidatingAdmissionPolicyBinding": (
            ("Name", "PolicyName", "ParamRef", "Age"),
            _policy_binding,
        ),
    }
)
"""Titles and cells by kind; ``+``: shown by ``-o wide`` only, ``#``: a number, ``@``: a time."""

_TYPES: Final = {"#": "integer", "@": "date"}
