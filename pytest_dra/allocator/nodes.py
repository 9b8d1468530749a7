"""Nodes and node selectors: which slices, devices and allocations a node can reach."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.api.names import label_key_error
from pytest_dra.api.names import label_value_error

NAME_FIELD: Final = "metadata.name"
"""The only field of a node that selectors can ask for."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_INT64: Final = 2**63


Node = Mapping[str, Any]


class SelectorError(ValueError):
    """A node selector that does not parse."""


def name_of(node: Mapping[str, Any]) -> str:
    """The name of a node."""
    return str((node.get("metadata") or {}).get("name") or "")


def labels_of(node: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a node."""
    return (node.get("metadata") or {}).get("labels") or {}


def declares(node: Mapping[str, Any], feature: str) -> bool:
    """True if the kubelet of the node says that it has a feature."""
    return feature in ((node.get("status") or {}).get("declaredFeatures") or ())


def matches(node: Mapping[str, Any], place: Mapping[str, Any]) -> bool:
    """True if ``nodeName``, ``allNodes`` or ``nodeSelector`` of ``place`` name the node.

    Raises:
        SelectorError: the selector does not parse.
    """
    name = place.get("nodeName")
    if name:
        return bool(name == name_of(node))
    if place.get("allNodes"):
        return True
    selector = place.get("nodeSelector")
    return selector is not None and selects(selector, node)


def selects(selector: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """True if any term of a node selector matches.

    Raises:
        SelectorError: any of the terms does not parse.
    """
    text = json.dumps(selector, sort_keys=True)
    terms = _parsed(text)
    labels, name = labels_of(node), name_of(node)
    return any(_term(term, labels, name) for term in terms)


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[tuple[tuple[str, str, frozenset[str], bool], ...], ...]:
    """Terms of requirements: key, operator, values, whether it is for a field."""
    terms = []
    for term in json.loads(text).get("nodeSelectorTerms") or ():
        made = [_label_requirement(one) for one in term.get("matchExpressions") or ()]
        made += [_field_requirement(one) for one in term.get("matchFields") or ()]
        if made:
            terms.append(tuple(made))
    return tuple(terms)


def _label_requirement(one: Mapping[str, Any]) -> tuple[str, str, frozenset[str], bool]:
    key, operator, values = one.get("key") or "", one.get("operator"), one.get("values") or []
    counts = {"In": len(values) > 0, "NotIn": len(values) > 0, "Exists": not values}
    counts["DoesNotExist"] = not values
    counts["Gt"] = counts["Lt"] = len(values) == 1 and _int64(values[0]) is not None
    if operator not in counts or not counts[operator]:
        raise SelectorError(f"node selector: operator {operator} with values {values}")
    if label_key_error(key) or any(label_value_error(value) for value in values):
        raise SelectorError(f"node selector: no label: {key!r} with values {values}")
    return key, operator, frozenset(values), False


def _field_requirement(one: Mapping[str, Any]) -> tuple[str, str, frozenset[str], bool]:
    key, operator, values = one.get("key") or "", one.get("operator"), one.get("values") or []
    if operator not in ("In", "NotIn") or len(values) != 1:
        raise SelectorError(f"node selector: field {key} with operator {operator} and {values}")
    return key, operator, frozenset(values), True


def _int64(text: str) -> int | None:
    value = int(text) if _INTEGER.fullmatch(text) else None
    return value if value is not None and -_INT64 <= value < _INT64 else None


def _term(
    term: tuple[tuple[str, str, frozenset[str], bool], ...], labels: Mapping[str, str], name: str
) -> bool:
    fields = {NAME_FIELD: name}
    for key, operator, values, is_field in term:
        if is_field:
            # A field that nodes do not have is empty.
            if name and (fields.get(key, "") in values) != (operator == "In"):
                return False
        elif not _requirement(operator, values, labels.get(key)):
            return False
    return True


def _requirement(operator: str, values: frozenset[str], value: str | None) -> bool:
    if operator in ("NotIn", "DoesNotExist"):
        return value is None or (operator == "NotIn" and value not in values)
    if value is None:
        return False
    if operator in ("Gt", "Lt"):
        (text,) = values
        limit, number = _int64(text), _int64(value)
        if limit is None or number is None:
            return False
        return number > limit if operator == "Gt" else number < limit
    return operator == "Exists" or value in values
