"""How Kubernetes 1.34 words its refusals: its rules are written by hand, later ones are declared.

The same objects are refused, but some causes name another field or reason, or come twice.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Final

from pytest_dra.embedded.errors import Cause

DECLARED_SINCE: Final = 35
"""The first version whose causes are those of the other modules."""

_DUPLICATES: Final = (
    (re.compile(r"(spec\.)?spec\.devices\.requests\[\d+\](\.firstAvailable\[\d+\])?"), "name"),
    (re.compile(r"spec\.devices\[\d+\]"), "name"),
    (re.compile(r"status\.reservedFor\[\d+\]"), "uid"),
    (re.compile(r"status\.devices\[\d+\]"), "deviceID"),
    (re.compile(r".*\.conditions\[\d+\]"), "type"),
)
"""Where an item that is there twice is named by its key."""

_TWICE: Final = ("metadata.uid", "metadata.deletionTimestamp", "metadata.finalizers")
"""What is checked once as metadata and once as part of the object."""

_WHOLE_TWICE: Final = ("DeviceClass", "Node")
"""Kinds whose update is checked like a creation, and then once more."""

_EMPTY: Final = 'Invalid value: ""'


def reworded(causes: list[Cause], kind: str, *, update: bool) -> list[Cause]:
    """The causes as 1.34 gives them for an object of this kind."""
    out: list[Cause] = []
    for cause in causes:
        found = list(_variants(cause))
        again = cause.field in _TWICE and (
            cause.field != "metadata.finalizers" or cause.reason == "FieldValueForbidden"
        )
        plain = cause.field.startswith("metadata.") and "taints" not in cause.field
        if again or (update and kind in _WHOLE_TWICE and not plain):
            found *= 2
        out += found
    return out


def _variants(cause: Cause) -> Iterator[Cause]:
    field, reason = cause.field, cause.reason.removeprefix("FieldValue")
    if reason == "Duplicate":
        for pattern, key in _DUPLICATES:
            if pattern.fullmatch(field):
                cause = dataclasses.replace(cause, field=f"{field}.{key}")
                break
        yield cause
    elif field.endswith(".driver") and reason == "Required":
        yield cause
        yield Cause(field, "FieldValueInvalid", f"{_EMPTY}: must be a DNS subdomain")
    elif field.endswith(".matchAttribute") and cause.message.startswith(_EMPTY):
        # two rules are broken, and told as one
        if "domain" in cause.message:
            yield Cause(field, "FieldValueRequired", "Required value: name required")
    elif ".conditions[" in field and reason == "Required" and field.endswith(".status"):
        yield dataclasses.replace(cause, reason="FieldValueNotSupported")
    elif ".conditions[" in field and reason == "Required" and field.endswith(".type"):
        yield from [dataclasses.replace(cause, reason="FieldValueInvalid")] * 2
    elif field.startswith("metadata.ownerReferences[") and reason == "Required":
        bare = re.sub(r"\[\d+\]", "", field)
        yield dataclasses.replace(cause, field=bare, reason="FieldValueInvalid")
    elif field.startswith("metadata.ownerReferences[") and "disallowed" in cause.message:
        yield dataclasses.replace(cause, field="metadata.ownerReferences")
    else:
        yield cause
