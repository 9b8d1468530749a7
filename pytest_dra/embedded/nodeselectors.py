"""Rules of NodeSelectors, wherever they stand."""

from __future__ import annotations

from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded.report import Report
from pytest_dra.spec import Json

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")
_COMPARING: Final = ("Gt", "Lt")


def validate(selector: Json, path: str, report: Report) -> None:
    """Terms are there, and each requirement of them is well formed."""
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        report.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        where = f"{path}.nodeSelectorTerms[{index}]"
        for number, requirement in enumerate(term.get("matchExpressions") or []):
            _expression(requirement, f"{where}.matchExpressions[{number}]", report)
        for number, requirement in enumerate(term.get("matchFields") or []):
            _field(requirement, f"{where}.matchFields[{number}]", report)


def _expression(requirement: Json, path: str, report: Report) -> None:
    operator, values = requirement["operator"], requirement.get("values") or []
    if operator in _WITH_VALUES:
        if not values:
            report.required(
                f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"
            )
    elif operator in _WITHOUT_VALUES:
        if values:
            report.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists'")
    elif operator in _COMPARING:
        if len(values) != 1:
            report.required(f"{path}.values", "must be specified single value for 'Gt' or 'Lt'")
    else:
        report.invalid(f"{path}.operator", operator, "not a valid selector operator")
    report.format(f"{path}.key", requirement["key"], names.label_key_error(requirement["key"]))


def _field(requirement: Json, path: str, report: Report) -> None:
    operator, values = requirement["operator"], requirement.get("values") or []
    if operator not in _WITH_VALUES:
        report.invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        report.required(
            f"{path}.values", "must be only one value when `operator` is 'In' or 'NotIn'"
        )
    if requirement["key"] != "metadata.name":
        report.invalid(f"{path}.key", requirement["key"], "not a valid field selector key")
        return
    for index, value in enumerate(values):
        report.format(f"{path}.values[{index}]", value, names.node_name_error(value))
