"""The strategies of the core kinds that drivers and kubelets touch, and of leases."""

from __future__ import annotations

import ipaddress
from typing import Any
from typing import ClassVar
from typing import Final

from pytest_dra.api import names
from pytest_dra.api.resources import PODS
from pytest_dra.embedded import errors
from pytest_dra.embedded import podadmission
from pytest_dra.embedded import raw
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

NOT_READY: Final = {"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"}
"""The taint that admission puts on a new node."""

GRACE_S: Final = 30
"""Termination grace of a pod that asks for none."""


class Workloads(Strategy):
    """Deployments and DaemonSets, stored as they come: no controller looks at them."""

    generation: ClassVar[bool] = True

    def default(self, obj: Json) -> None:
        """One replica, where there are replicas."""
        if self.kind == "apps.Deployment" and isinstance(obj["spec"], dict):
            obj["spec"] = raw.spelled({"replicas": 1, **obj["spec"]})


_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Nodes(Strategy):
    """Nodes: a new one is tainted, its status may be given at once."""

    status: ClassVar[bool] = True
    status_with_metadata: ClassVar[bool] = True

    def prepare_create(self, obj: Json, ctx: Context) -> None:
        """The status stays: a kubelet registers with it."""
        taints = obj["spec"].setdefault("taints", [])
        if not any(taint.get("key") == NOT_READY["key"] for taint in taints):
            taints.append(dict(NOT_READY))

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Who provides the node, and its address ranges, can be told once."""
        self.validate_create(new, ctx, report)
        told = old["spec"].get("providerID")
        if told and new["spec"].get("providerID") != told:
            report.invalid("spec.providerID", new["spec"].get("providerID"), "is set already")
        ranges = old["spec"].get("podCIDRs")
        if ranges and new["spec"].get("podCIDRs") != ranges:
            why = 'node updates may not change podCIDR except from "" to valid'
            report.forbidden("spec.podCIDRs", why)

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """A taint needs key and effect; the server says ``metadata`` where it means ``spec``."""
        for index, text in enumerate(obj["spec"].get("podCIDRs") or []):
            report.format(f"spec.podCIDRs[{index}]", text, _range_error(text))
        seen: set[tuple[str, str]] = set()
        for index, taint in enumerate(obj["spec"].get("taints") or []):
            path = f"metadata.taints[{index}]"
            report.format(f"{path}.key", taint["key"], names.label_key_error(taint["key"]))
            report.format(
                f"{path}.value",
                taint.get("value", ""),
                names.label_value_error(taint.get("value", "")),
            )
            if not taint["effect"]:
                report.required(f"{path}.effect")
            elif taint["effect"] not in _EFFECTS:
                report.not_supported(f"{path}.effect", taint["effect"], _EFFECTS)
            if (taint["key"], taint["effect"]) in seen:
                report.duplicate(path, taint["key"])
            seen.add((taint["key"], taint["effect"]))

    def default(self, obj: Json) -> None:
        """Allocatable defaults to capacity; the first address range has two names."""
        spec = obj["spec"]
        if spec.get("podCIDR"):
            if (spec.get("podCIDRs") or [""])[0] != spec["podCIDR"]:
                spec["podCIDRs"] = [spec["podCIDR"]]
        elif spec.get("podCIDRs"):
            spec["podCIDR"] = spec["podCIDRs"][0]
        status = obj["status"]
        if status.get("capacity") and not status.get("allocatable"):
            status["allocatable"] = dict(status["capacity"])


def _range_error(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
    return "" if "/" in text else "must be a valid CIDR value"


_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")
"""Finalizers of a namespace's spec that need no domain."""


class Namespaces(Strategy):
    """Namespaces: labelled with their name, Active until they are deleted."""

    status: ClassVar[bool] = True
    status_with_metadata: ClassVar[bool] = True

    def name_error(self, name: str) -> str:
        """A label, because it stands in DNS names."""
        return names.dns_label_error(name)

    def default(self, obj: Json) -> None:
        """The label that names it; a generated name is known only in ``prepare_create``."""
        obj["status"].setdefault("phase", "Active")
        name = obj["metadata"].get("name")
        if name:
            obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name

    def prepare_create(self, obj: Json, ctx: Context) -> None:
        """Phase and finalizer of a new namespace."""
        self.default(obj)
        obj["status"] = {"phase": "Active"}
        finalizers = obj["spec"].setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Finalizers of the spec are named as others are."""
        for text in obj["spec"].get("finalizers") or []:
            report.format("spec.finalizers", text, names.label_key_error(text))
            if "/" not in text and text not in _FINALIZERS:
                why = "name is neither a standard finalizer name nor is it fully qualified"
                report.invalid("spec.finalizers", text, why)

    def prepare_update(self, new: Json, old: Json, ctx: Context) -> None:
        """Finalizers of the spec and status stay."""
        super().prepare_update(new, old, ctx)
        new["spec"] = old["spec"]


class Pods(Strategy):
    """Pods, as far as a driver or a claim controller looks at them; nothing runs them."""

    status: ClassVar[bool] = True
    status_with_metadata: ClassVar[bool] = True
    generation: ClassVar[bool] = True

    def default(self, obj: Json) -> None:
        """The defaults of the fields that matter here."""
        spec = obj["spec"]
        spec.setdefault("restartPolicy", "Always")
        spec.setdefault("terminationGracePeriodSeconds", GRACE_S)
        spec.setdefault("dnsPolicy", "ClusterFirst")
        spec.setdefault("securityContext", {})
        spec.setdefault("schedulerName", "default-scheduler")
        spec.setdefault("enableServiceLinks", True)
        for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
            _default_container(container)

    def prepare_create(self, obj: Json, ctx: Context) -> None:
        """A new pod is Pending."""
        quality = "BestEffort"
        for container in obj["spec"].get("containers") or []:
            resources = container["resources"]
            if resources.get("limits") or resources.get("requests"):
                quality = "Burstable"
        obj["status"] = {"phase": "Pending", "qosClass": quality}
        podadmission.complete(obj["spec"])

    def drop_gated(self, new: Json, old: Json | None, ctx: Context) -> None:
        """The claim of extended resources, where there is no such feature."""
        used = "extendedResourceClaimStatus" in ((old or {}).get("status") or {})
        if not used and not ctx.version.enabled("DRAExtendedResource"):
            (new.get("status") or {}).pop("extendedResourceClaimStatus", None)

    def admit(self, obj: Json, old: Json | None, ctx: Context) -> None:
        """The ServiceAccount has to exist."""
        if old is not None:
            return
        account = obj["spec"].get("serviceAccountName") or "default"
        if ctx.store.get("core.ServiceAccount", ctx.namespace, account) is None:
            raise errors.forbidden(
                PODS,
                obj["metadata"].get("name", ""),
                f"error looking up service account {ctx.namespace}/{account}: serviceaccount "
                f'"{account}" not found',
            )

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Containers exist and name only claims of the pod."""
        spec = obj["spec"]
        if not spec.get("containers"):
            report.required("spec.containers")
        for name, known in _WORDS.items():
            if spec[name] not in known:
                report.not_supported(f"spec.{name}", spec[name], known)
        if spec.get("nodeName"):
            error = names.dns_subdomain_error(spec["nodeName"])
            report.format("spec.nodeName", spec["nodeName"], error)
        taken: set[str] = set()
        claims = _validate_claims(spec.get("resourceClaims") or [], report)
        for kind in ("initContainers", "containers"):
            for index, container in enumerate(spec.get(kind) or []):
                where = f"spec.{kind}[{index}]"
                _validate_container(container, where, taken, report)
                _validate_uses(container["resources"], claims, f"{where}.resources", report)

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Of the spec only images and a few more may change."""
        self.validate_create(new, ctx, report)
        if _fixed_spec(new) != _fixed_spec(old):
            report.forbidden(
                "spec", "pod updates may not change fields other than `spec.containers[*].image`"
            )

    def prepare_status(self, new: Json, old: Json, ctx: Context) -> None:
        """The quality of service is nobody's to change."""
        super().prepare_status(new, old, ctx)
        owners = old["metadata"].get("ownerReferences")
        new["metadata"].pop("ownerReferences", None)
        if owners:
            new["metadata"]["ownerReferences"] = owners
        quality = (old.get("status") or {}).get("qosClass")
        if quality:
            new["status"]["qosClass"] = quality

    def validate_status(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Claim statuses name claims of the spec."""
        declared = {claim["name"] for claim in new["spec"].get("resourceClaims") or []}
        for index, entry in enumerate(new["status"].get("resourceClaimStatuses") or []):
            if entry["name"] not in declared:
                report.invalid(
                    f"status.resourceClaimStatuses[{index}].name",
                    entry["name"],
                    "must match the name of an entry in `spec.resourceClaims`",
                )
        extended = new["status"].get("extendedResourceClaimStatus") or {}
        if not ctx.version.enabled("DRAExtendedResource"):
            extended = {}
        for index, mapping in enumerate(extended.get("requestMappings") or []):
            if mapping["resourceName"] not in _requested(new, mapping["containerName"]):
                report.invalid(
                    f"status.extendedResourceClaimStatus.requestMappings[{index}].resourceName",
                    mapping["resourceName"],
                    "must be a resource that the container requests",
                )


def _requested(pod: Json, container: str) -> set[str]:
    found: set[str] = set()
    for kind in ("initContainers", "containers"):
        for part in pod["spec"].get(kind) or []:
            if part["name"] == container:
                found |= set(part["resources"].get("requests") or {})
    return found


def _default_container(container: Json) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    image = container.get("image", "")
    tagged = ":" in image.rpartition("/")[2] and not image.endswith(":latest")
    container.setdefault("imagePullPolicy", "IfNotPresent" if tagged else "Always")
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe:
            if "httpGet" in probe:
                probe["httpGet"].setdefault("path", "/")
                probe["httpGet"].setdefault("scheme", "HTTP")
            for key, value in _PROBE.items():
                probe.setdefault(key, value)
    limits = container["resources"].get("limits") or {}
    if limits:
        requests = container["resources"].setdefault("requests", {})
        for key, value in limits.items():
            requests.setdefault(key, value)


_PROBE: Final = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}


_WORDS: Final = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
}
"""Fields of a pod's spec that have one of a few values."""


def _validate_container(container: Json, where: str, taken: set[str], report: Report) -> None:
    name, image = container["name"], container.get("image", "")
    if not name:
        report.required(f"{where}.name")
    else:
        report.format(f"{where}.name", name, names.dns_label_error(name))
    if name and name in taken:
        report.duplicate(f"{where}.name", name)
    taken.add(name)
    if not image:
        report.required(f"{where}.image")
    elif image != image.strip():
        report.invalid(f"{where}.image", image, "must not have leading or trailing whitespace")


def _validate_claims(claims: list[Json], report: Report) -> set[str]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where = f"spec.resourceClaims[{index}]"
        name = claim["name"]
        if not name:
            report.required(f"{where}.name")
        elif name in seen:
            report.duplicate(f"{where}.name", name)
        else:
            report.format(f"{where}.name", name, names.dns_label_error(name))
        seen.add(name)
        given = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if key in claim]
        if len(given) != 1:
            report.invalid(
                where,
                name,
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            )
    return seen


def _validate_uses(resources: Json, declared: set[str], where: str, report: Report) -> None:
    whole: set[str] = set()
    single: set[tuple[str, str]] = set()
    for index, use in enumerate(resources.get("claims") or []):
        path = f"{where}.claims[{index}]"
        name, request = use["name"], use.get("request", "")
        if not name:
            report.required(f"{path}.name")
            continue
        if name not in declared:
            report.not_found(path, name)
        partly = any(other == name for other, _ in single)
        if (name, request) in single or name in whole or (not request and partly):
            report.duplicate(path, f"{name}/{request}" if request else name)
        if request:
            report.format(f"{path}.request", request, names.dns_label_error(request))
            single.add((name, request))
        else:
            whole.add(name)


def _fixed_spec(pod: Json) -> Json:
    spec: dict[str, Any] = dict(pod["spec"])
    for free in (
        "activeDeadlineSeconds",
        "terminationGracePeriodSeconds",
        "tolerations",
        "schedulingGates",
    ):
        spec.pop(free, None)
    for kind in ("containers", "initContainers"):
        spec[kind] = [
            {key: value for key, value in container.items() if key not in ("image", "resources")}
            | {"resources": container["resources"].get("claims")}
            for container in spec.get(kind) or []
        ]
    return spec
