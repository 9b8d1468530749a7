"""Rules of a claim's spec, for claims and for templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.api import names
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import alpharules
from pytest_dra.embedded import devicerules
from pytest_dra.embedded import expressions
from pytest_dra.embedded.report import Report
from pytest_dra.spec import Json

_MODES: Final = ("All", "ExactCount")


def default_request(part: Json) -> None:
    """Mode, count and operators of a request or subrequest."""
    mode = part.setdefault("allocationMode", "ExactCount")
    if mode == "ExactCount":
        part.setdefault("count", 1)
    for toleration in part.get("tolerations") or []:
        toleration.setdefault("operator", "Equal")


def default_spec(spec: Json) -> None:
    """Defaults of a claim's spec."""
    for request in spec["devices"].get("requests") or []:
        if request.get("exactly") is not None:
            default_request(request["exactly"])
        for part in request.get("firstAvailable") or []:
            default_request(part)


def request_names(spec: Json) -> set[str]:
    """What may be referred to: requests, and ``request/subrequest``."""
    found: set[str] = set()
    for request in spec["devices"].get("requests") or []:
        found.add(request["name"])
        found |= {
            f"{request['name']}/{part['name']}" for part in request.get("firstAvailable") or []
        }
    return found


class ClaimRules:
    """The rules of one spec. ``path`` is where it stands: ``spec`` or ``spec.spec``."""

    def __init__(self, spec: Json, path: str, version: KubernetesVersion, report: Report) -> None:
        self._devices = spec["devices"]
        self._path = f"{path}.devices"
        self._limits = version.limits
        self._version = version
        self._consumable = version.enabled("DRAConsumableCapacity")
        self._report = report
        self._known = request_names(spec)

    def validate(self) -> None:
        """All of them."""
        self._items("requests", self._limits.requests, self._request, lambda item: item["name"])
        self._items("constraints", self._limits.constraints, self._constraint, None)
        self._items("config", self._limits.config, self._config, None)

    def _items(
        self,
        name: str,
        limit: int,
        check: Callable[[Json, str], None],
        key: Callable[[Json], str] | None,
    ) -> None:
        items = self._devices.get(name) or []
        listed(items, f"{self._path}.{name}", limit, check, key, self._report)

    def _request(self, request: Json, path: str) -> None:
        report = self._report
        report.format(f"{path}.name", request["name"], names.dns_label_error(request["name"]))
        exactly, choices = request.get("exactly"), request.get("firstAvailable") or []
        if exactly is not None and choices:
            report.invalid(path, None, "exactly one of `exactly` or `firstAvailable` is allowed")
        elif exactly is not None:
            self._wanted(exactly, f"{path}.exactly")
        elif choices:
            listed(
                choices,
                f"{path}.firstAvailable",
                self._limits.sub_requests,
                self._sub_request,
                lambda item: item["name"],
                report,
            )
        else:
            report.required(path, "exactly one of `exactly` or `firstAvailable` is required")

    def _sub_request(self, part: Json, path: str) -> None:
        self._report.format(f"{path}.name", part["name"], names.dns_label_error(part["name"]))
        self._wanted(part, path)

    def _wanted(self, part: Json, path: str) -> None:
        report = self._report
        name = part["deviceClassName"]
        if not name:
            report.required(f"{path}.deviceClassName")
        else:
            report.format(f"{path}.deviceClassName", name, names.dns_subdomain_error(name))
        selectors = part.get("selectors") or []
        validate_selectors(selectors, f"{path}.selectors", self._version, report)
        mode, count = part.get("allocationMode", ""), part.get("count", 0)
        if mode not in _MODES:
            report.not_supported(f"{path}.allocationMode", mode, _MODES)
        elif mode == "All" and count:
            report.invalid(f"{path}.count", count, "must not be specified for mode 'All'")
        elif mode == "ExactCount" and count <= 0:
            report.invalid(f"{path}.count", count, "must be greater than zero")
        constraints = self._devices.get("constraints") or []
        derived = f"{path}.derivedAttributes"
        alpharules.derived_attributes(part, derived, constraints, self._version, report)
        for index, toleration in enumerate(part.get("tolerations") or []):
            effects = devicerules.effects_of(self._version.minor)
            where = f"{path}.tolerations[{index}]"
            devicerules.toleration(toleration, where, report, effects=effects)

    def _constraint(self, constraint: Json, path: str) -> None:
        report = self._report
        references(constraint, path, self._limits.requests, self._known, report)
        given = [
            name
            for name in ("matchAttribute", "distinctAttribute")
            if constraint.get(name) is not None
        ]
        for name in given:
            devicerules.qualified_name(
                constraint[name], f"{path}.{name}", report, domain_required=True
            )
        if not given:
            report.required(path if self._consumable else f"{path}.matchAttribute")

    def _config(self, config: Json, path: str) -> None:
        references(config, path, self._limits.requests, self._known, self._report)
        validate_opaque(config, path, self._limits, self._report)


def listed(
    items: list[Any],
    path: str,
    limit: int,
    check: Callable[[Any, str], None],
    key: Callable[[Any], Any] | None,
    report: Report,
) -> None:
    """Check a list: its size (then nothing else), each item, and that keys are unique."""
    if limit >= 0 and len(items) > limit:
        report.too_many(path, len(items), limit)
        return
    seen: list[Any] = []
    for index, item in enumerate(items):
        check(item, f"{path}[{index}]")
        if key is None:
            continue
        identity = key(item)
        if identity in seen:
            report.duplicate(f"{path}[{index}]", identity)
        else:
            seen.append(identity)


def references(part: Json, path: str, limit: int, known: set[str], report: Report) -> None:
    """The ``requests`` of a constraint or configuration."""
    listed(
        part.get("requests") or [],
        f"{path}.requests",
        limit,
        lambda name, where: reference(name, where, known, report),
        lambda name: name,
        report,
    )


def reference(name: str, path: str, known: set[str], report: Report) -> None:
    """A reference to a request, or to a subrequest of it."""
    segments = name.split("/")
    if len(segments) > 2:
        report.invalid(path, name, "must be the name of a request, or request/subrequest")
        return
    for segment in segments:
        report.format(path, segment, names.dns_label_error(segment))
    if name not in known:
        report.invalid(path, name, "must be the name of a request of the claim")


def validate_selectors(
    selectors: list[Json], path: str, version: KubernetesVersion, report: Report
) -> None:
    """CEL expressions: size, whether they compile, and what they may cost."""
    limits = version.limits

    def check(selector: Json, where: str) -> None:
        cel = selector.get("cel")
        if cel is None:
            report.required(f"{where}.cel")
            return
        expression = cel["expression"]
        if len(expression.encode()) > limits.expression_bytes:
            report.too_long(f"{where}.cel.expression", limits.expression_bytes)
        elif not expression.strip():
            report.invalid(f"{where}.cel.expression", expression, "must not be empty")
        else:
            expressions.selector(expression, f"{where}.cel.expression", version, report)

    listed(selectors, path, limits.selectors, check, None, report)


def validate_opaque(config: Json, path: str, limits: Any, report: Report) -> None:
    """A driver's configuration."""
    opaque = config.get("opaque")
    if opaque is None:
        report.required(f"{path}.opaque")
        return
    devicerules.driver(opaque["driver"], f"{path}.opaque.driver", report)
    where = f"{path}.opaque.parameters"
    if opaque.get("parameters") is None:
        report.required(where)
    else:
        devicerules.opaque_json(opaque["parameters"], where, limits.parameters_bytes, report)
