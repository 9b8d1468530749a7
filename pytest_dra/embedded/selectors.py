"""Field and label selectors of LIST, WATCH and deletecollection."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import bad_request
from pytest_dra.spec import Json

_FIELD_TERM: Final = re.compile(r"([^=!]+)(==|!=|=)(.*)", re.DOTALL)
_SET_TERM: Final = re.compile(r"\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*")
_EQUAL_TERM: Final = re.compile(r"\s*([^=!<>\s]+)\s*(==|!=|=|<|>)\s*([^=!<>]*?)\s*")
_EXISTS_TERM: Final = re.compile(r"\s*(!?)\s*([^=!<>\s(),]+)\s*")
_COMMA: Final = re.compile(r",(?![^(]*\))")


FieldReader = Callable[[Json], str]
"""Gives the text of one field label of an object ("" when it is unset)."""


@functools.cache
def at(path: str) -> FieldReader:
    """The reader of a dotted path, which yields "" where something on the way is missing."""
    *parts, last = path.split(".")

    def read(obj: Json) -> str:
        value: Any = obj
        for part in parts:
            value = value.get(part)
            if not isinstance(value, dict):
                return ""
        value = value.get(last)
        # the ordinary case first: it is asked of thousands of objects
        return value if type(value) is str else _text(value)

    return read


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Selector:
    """A compiled pair of field and label selector; both texts empty: everything matches."""

    fields: tuple[tuple[FieldReader, str, bool], ...]
    labels: tuple[Callable[[Mapping[str, str]], bool], ...]

    @property
    def everything(self) -> bool:
        """True if nothing is selected away."""
        return not self.fields and not self.labels

    @property
    def equal(self) -> tuple[FieldReader, str] | None:
        """A field and the text that it has to have, if there is such a requirement."""
        return next(((read, value) for read, value, equal in self.fields if equal), None)

    def matches(self, obj: Json) -> bool:
        """True if the object fulfils all requirements."""
        for read, value, equal in self.fields:
            if (read(obj) == value) is not equal:
                return False
        if self.labels:
            labels = obj["metadata"].get("labels") or {}
            return all(requirement(labels) for requirement in self.labels)
        return True


EVERYTHING: Final = Selector((), ())
"""Selects all objects."""


def parse(
    field_text: str,
    label_text: str,
    known: Mapping[str, FieldReader],
    unsupported: Callable[[str], ApiError],
) -> Selector:
    """Compile both selectors of a request.

    Args:
        known: the field labels of the kind.
        unsupported: makes the failure for another field label.

    Raises:
        ApiError: 400, a selector is malformed or names an unknown field.
    """
    if not field_text and not label_text:
        return EVERYTHING
    return Selector(
        tuple(_field(term, known, unsupported) for term in field_text.split(",") if term),
        tuple(_label(term) for term in _COMMA.split(label_text) if label_text),
    )


def check_syntax(field_text: str, label_text: str) -> None:
    """Refuse what nobody can understand, whatever the kind is.

    Raises:
        ApiError: 400.
    """
    for term in field_text.split(","):
        if term and _FIELD_TERM.fullmatch(term) is None:
            raise bad_request(f"invalid field selector {term!r}: can't understand it")
    for term in _COMMA.split(label_text) if label_text else ():
        _label(term)


def _field(
    term: str, known: Mapping[str, FieldReader], unsupported: Callable[[str], ApiError]
) -> tuple[FieldReader, str, bool]:
    match = _FIELD_TERM.fullmatch(term)
    if match is None:
        raise bad_request(f"invalid field selector {term!r}: can't understand it")
    label, operator, value = match.groups()
    reader = known.get(label)
    if reader is None:
        raise unsupported(label)
    return reader, value, operator != "!="


def _label(term: str) -> Callable[[Mapping[str, str]], bool]:
    match = _SET_TERM.fullmatch(term)
    if match:
        key, wanted = _key(match[1]), frozenset(_value(part) for part in match[3].split(","))
        if match[2] == "in":
            return lambda labels: labels.get(key) in wanted and key in labels
        return lambda labels: labels.get(key) not in wanted
    match = _EQUAL_TERM.fullmatch(term)
    if match:
        return _compare(_key(match[1]), match[2], _value(match[3]))
    match = _EXISTS_TERM.fullmatch(term)
    if match and match[2] not in ("in", "notin"):
        key, absent = _key(match[2]), bool(match[1])
        return lambda labels: (key in labels) is not absent
    raise bad_request(f"unable to parse label selector requirement {term!r}")


def _compare(key: str, operator: str, value: str) -> Callable[[Mapping[str, str]], bool]:
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    try:
        bound = int(value)
    except ValueError as error:
        raise bad_request(f"label selector: {value!r} is no integer") from error
    if operator == ">":
        return lambda labels: _number(labels.get(key), bound) > bound
    return lambda labels: _number(labels.get(key), bound) < bound


def _number(text: str | None, otherwise: int) -> int:
    try:
        return int(text or "")
    except ValueError:
        return otherwise


def _key(text: str) -> str:
    error = names.label_key_error(text)
    if error:
        raise bad_request(f"label selector: key {text!r}: {error}")
    return text


def _value(text: str) -> str:
    text = text.strip()
    error = names.label_value_error(text)
    if error:
        raise bad_request(f"label selector: value {text!r}: {error}")
    return text
