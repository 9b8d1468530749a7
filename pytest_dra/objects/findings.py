"""What a review of objects has to say."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Level


class Severity(str, enum.Enum):
    """How bad a finding is, in the words of SARIF."""

    ERROR = "error"
    """An API server refuses it, or it breaks a MUST."""
    WARNING = "warning"
    """It is accepted, and somebody stumbles over it."""
    NOTE = "note"
    """A MAY."""


OF_LEVEL: Final[Mapping[Level, Severity]] = MappingProxyType(
    {Level.MUST: Severity.ERROR, Level.SHOULD: Severity.WARNING, Level.MAY: Severity.NOTE}
)

REFUSED: Final = "refused"
UNKNOWN_FIELD: Final = "unknown-field"
REPEATED_FIELD: Final = "repeated-field"
DROPPED: Final = "dropped"
NOT_SERVED: Final = "not-served"
CLASS_MISSING: Final = "class-missing"
SELECTOR_FAILS: Final = "selector-fails"
NOTHING_MATCHES: Final = "nothing-matches"

OWN_RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        REFUSED: "an API server refuses the object",
        UNKNOWN_FIELD: "the kind has no such field: a server refuses or drops it",
        REPEATED_FIELD: "a field is given twice: a server refuses it or takes the last one",
        DROPPED: "a field of a feature that is off goes silently",
        NOT_SERVED: "a server does not serve this version or kind",
        CLASS_MISSING: "a request names a DeviceClass that is not among the objects",
        SELECTOR_FAILS: "a selector fails on a device: a scheduler gives the pod up",
        NOTHING_MATCHES: "selectors match no device of the objects",
    }
)
"""Rules that are no cases of the catalogue, with a title each."""

TEXT_MAX: Final = 600
"""Characters of a message: what objects hold may be long."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        rule: id of a case of the catalogue, or one of :data:`OWN_RULES`.
        severity: how bad it is.
        message: printable, one line.
        file: as it was named; ``line`` from 1.
        object: kind and name.
        field: path in the object; "" for all of it.
        versions: Kubernetes minors for which it holds.
    """

    rule: str
    severity: Severity
    message: str
    file: str
    line: int
    object: str
    field: str = ""
    versions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("message", "object", "field"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    @property
    def place(self) -> tuple[str, str, str, str, int, str]:
        """What makes two findings one."""
        return (self.rule, self.severity, self.message, self.file, self.line, self.field)


def printable(text: str) -> str:
    """One line that moves no terminal's cursor, of bounded length."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= TEXT_MAX else f"{shown[: TEXT_MAX - 3]}..."


def title_of(rule: str) -> str:
    """What a rule is about, in a few words."""
    own = OWN_RULES.get(rule)
    return own if own is not None else catalogue().case(rule).title
