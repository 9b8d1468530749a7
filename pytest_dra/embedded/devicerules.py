"""Rules shared by slices, claims and taint rules: taints, tolerations, conditions, opaque data."""

from __future__ import annotations

from typing import Any
from typing import Final

from pytest_dra.api import names
from pytest_dra.api.versions import Limits
from pytest_dra.embedded import raw
from pytest_dra.embedded.report import Report
from pytest_dra.spec import Json

EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_OPERATORS: Final = ("Equal", "Exists")


def driver(name: str, path: str, report: Report) -> None:
    """A driver name: each broken rule is a cause."""
    if not name:
        report.required(path)
        return
    if len(name) > names.DRIVER_NAME_MAX:
        report.too_long(path, names.DRIVER_NAME_MAX)
    report.format(path, name, names.dns_subdomain_error(name.lower()))


def pool(name: str, path: str, report: Report) -> None:
    """A pool name: each bad part is a cause."""
    if not name:
        report.required(path)
        return
    if len(name) > names.POOL_NAME_MAX:
        report.too_long(path, names.POOL_NAME_MAX)
    for part in name.split("/"):
        report.format(path, part, names.dns_subdomain_error(part))


def qualified_name(name: str, path: str, report: Report, *, domain_required: bool = False) -> None:
    """A QualifiedName, or a FullyQualifiedName if the domain is required."""
    domain, slash, identifier = name.partition("/")
    if "/" in identifier:
        return
    if not slash:
        if domain_required:
            report.invalid(path, name, "must include a domain")
        domain, identifier = "", name
    elif not domain:
        report.invalid(path, domain, "the domain must not be empty")
    if slash and domain:
        driver(domain, path, report)
    if not identifier:
        report.invalid(path, identifier, "the name must not be empty")
        return
    if len(identifier) > names.C_IDENTIFIER_MAX:
        report.too_long(path, names.C_IDENTIFIER_MAX)
        identifier = identifier[: names.C_IDENTIFIER_MAX]
    report.format(path, identifier, names.c_identifier_error(identifier))


def taint(value: Json, path: str, report: Report, *, effects: tuple[str, ...] = EFFECTS) -> None:
    """One device taint."""
    key = value["key"]
    if not key:
        report.invalid(f"{path}.key", key, "name part must be non-empty")
        report.invalid(f"{path}.key", key, "name part must consist of alphanumeric characters")
    else:
        report.format(f"{path}.key", key, names.label_key_error(key))
    text = value.get("value", "")
    report.format(f"{path}.value", text, names.label_value_error(text))
    effect = value["effect"]
    if not effect:
        report.required(f"{path}.effect")
    elif effect not in effects:
        report.not_supported(f"{path}.effect", effect, effects)


def toleration(
    value: Json, path: str, report: Report, *, effects: tuple[str, ...] = EFFECTS
) -> None:
    """One device toleration."""
    key, operator, text = value.get("key", ""), value.get("operator", ""), value.get("value", "")
    if key:
        report.format(f"{path}.key", key, names.label_key_error(key))
    if operator not in _OPERATORS:
        if operator:
            report.not_supported(f"{path}.operator", operator, _OPERATORS)
        else:
            report.required(f"{path}.operator")
    elif operator == "Exists":
        if text:
            report.invalid(f"{path}.value", text, "must be empty for operator `Exists`")
    else:
        report.format(f"{path}.value", text, names.label_value_error(text))
    effect = value.get("effect", "")
    if effect and effect not in effects:
        report.not_supported(f"{path}.effect", effect, effects)


def effects_of(minor: int) -> tuple[str, ...]:
    """The effects that a version knows: ``None`` came with 1.35."""
    return EFFECTS if minor >= _NONE_SINCE else EFFECTS[:-1]


_NONE_SINCE: Final = 35


def binding_conditions(value: Json, path: str, limits: Limits, report: Report) -> None:
    """Binding and binding failure conditions: both or neither, and disjoint."""
    wanted = value.get("bindingConditions") or []
    failures = value.get("bindingFailureConditions") or []
    _condition_names(wanted, f"{path}.bindingConditions", limits, report)
    _condition_names(failures, f"{path}.bindingFailureConditions", limits, report)
    if len(failures) <= limits.binding_conditions:
        for index, name in enumerate(failures):
            if name in wanted:
                report.invalid(
                    f"{path}.bindingFailureConditions[{index}]",
                    name,
                    "must not be in bindingConditions as well",
                )
    if wanted and not failures:
        report.invalid(
            f"{path}.bindingFailureConditions", failures, "are required with bindingConditions"
        )
    if failures and not wanted:
        report.invalid(
            f"{path}.bindingConditions", wanted, "are required with bindingFailureConditions"
        )


def _condition_names(found: list[str], path: str, limits: Limits, report: Report) -> None:
    if len(found) > limits.binding_conditions:
        report.too_many(path, len(found), limits.binding_conditions)
        return
    seen: set[str] = set()
    for index, name in enumerate(found):
        where = f"{path}[{index}]"
        if name in seen:
            report.duplicate(where, name)
        seen.add(name)
        if not name:
            report.invalid(where, name, "name part must be non-empty")
            report.invalid(where, name, "name part must consist of alphanumeric characters")
        else:
            report.format(where, name, names.label_key_error(name))


def opaque_json(value: Any, path: str, limit: int, report: Report) -> None:
    """Free data of a driver: a JSON object of limited size."""
    if raw.size(value) > limit:
        report.too_long(path, limit)
    elif not isinstance(value, dict):
        report.invalid(path, value, "must be a valid JSON object")
