"""Kubernetes' named formats, and what is wrong with a text by them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Final

from pytest_dra.cel.errors import CelError
from pytest_dra.cel.urls import is_url

_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LABEL_1035: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
)
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.ASCII)
_BASE64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_CLOCK: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")


class FormatValue:
    """A named format. ``cost_size`` is the pattern length by which its use is charged."""

    __slots__ = ("cost_size", "name", "validate")
    type_name = "kubernetes.NamedFormat"

    def __init__(self, name: str, cost_size: int, validate: Callable[[str], list[str]]) -> None:
        self.name = name
        self.cost_size = cost_size
        self.validate = validate

    def equals(self, other: object) -> bool | CelError:
        """``==`` with this value on the left."""
        if not isinstance(other, FormatValue):
            return CelError("no-such-overload", "no such overload")
        return self.name == other.name

    def map_key(self) -> object:
        """Never a key of a map."""
        raise TypeError("a format cannot be a map key")

    def __str__(self) -> str:
        return self.name


def _length(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} bytes"] if len(text.encode()) > limit else []


def _form(text: str, pattern: re.Pattern[str], message: str) -> list[str]:
    return [] if pattern.fullmatch(text) else [message]


def _label(text: str) -> list[str]:
    return _length(text, 63) + _form(text, _LABEL, "must be a DNS-1123 label")


def _label_1035(text: str) -> list[str]:
    return _length(text, 63) + _form(text, _LABEL_1035, "must be a DNS-1035 label")


def _subdomain(text: str) -> list[str]:
    return _length(text, 253) + _form(text, _SUBDOMAIN, "must be a DNS-1123 subdomain")


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix may end in a dash, as something follows."""

    def checked(text: str) -> list[str]:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return checked


def _label_value(text: str) -> list[str]:
    return _length(text, 63) + ([] if not text else _form(text, _NAME, "must be a label value"))


def _qualified(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if text.count("/") > 1:
        return ["must have at most one slash"]
    found = []
    if slash:
        found = _subdomain(prefix) if prefix else ["the prefix must not be empty"]
    if not name:
        found.append("the name must not be empty")
    return found + _length(name, 63) + _form(name, _NAME, "must be a qualified name")


def _uri(text: str) -> list[str]:
    return [] if is_url(text) else ["must be a URI"]


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year = int(match[1])
    try:
        # Year 0 is legal where dates come from; 2000 has its calendar.
        datetime.date(year or 2000, int(match[2]), int(match[3]))
    except ValueError:
        return False
    return True


def _date(text: str) -> list[str]:
    return [] if _is_date(text) else ["invalid date"]


def _datetime(text: str) -> list[str]:
    parts = text.lower().split("t")
    if len(parts) >= 2 and _is_date(parts[0]):
        match = _CLOCK.fullmatch(parts[1])
        if match and match[1] <= "23" and match[2] <= "59" and match[3] <= "59":
            return []
    return ["invalid datetime"]


def _uuid(text: str) -> list[str]:
    return _form(text, _UUID, "does not match the UUID format")


def _byte(text: str) -> list[str]:
    return _form(text, _BASE64, "invalid base64")


FORMATS: Final = {
    "dns1123Label": FormatValue("DNS1123Label", 30, _label),
    "dns1123Subdomain": FormatValue("DNS1123Subdomain", 60, _subdomain),
    "dns1035Label": FormatValue("DNS1035Label", 30, _label_1035),
    "qualifiedName": FormatValue("QualifiedName", 60, _qualified),
    "dns1123LabelPrefix": FormatValue("DNS1123LabelPrefix", 30, _prefix(_label)),
    "dns1123SubdomainPrefix": FormatValue("DNS1123SubdomainPrefix", 60, _prefix(_subdomain)),
    "dns1035LabelPrefix": FormatValue("DNS1035LabelPrefix", 30, _prefix(_label_1035)),
    "labelValue": FormatValue("LabelValue", 40, _label_value),
    "uri": FormatValue("URI", 1103, _uri),
    "uuid": FormatValue("uuid", 70, _uuid),
    "byte": FormatValue("byte", 84, _byte),
    "date": FormatValue("date", 71, _date),
    "datetime": FormatValue("datetime", 71, _datetime),
}
"""Formats by the name under which expressions find them."""
