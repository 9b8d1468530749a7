"""Free JSON inside objects (opaque parameters, device data), which keeps the text it was sent as.

The API server stores and compares such values as text. What re-encodes an object changes that
text: merge and JSON patches make it compact and escape ``<``, ``>`` and ``&``, strategic patches
and applies also sort the members and spell numbers anew. So a claim whose parameters were created
with blanks can no longer be patched, because its spec would change.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.embedded import typetable
from pytest_dra.embedded.scalars import JsonFloat
from pytest_dra.embedded.typetable import Field
from pytest_dra.spec import Json

_INT64: Final = 2**63

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+|[^" \t\r\n]+', re.DOTALL)
_ESCAPES: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_ESCAPED: Final = re.compile("[<>&\u2028\u2029]")

_SMALLEST_PLAIN: Final = 1e-6
_LARGEST_PLAIN: Final = 1e21
"""Go writes floating point numbers outside of this span with an exponent."""


class RawObject(dict[str, Any]):
    """A JSON object with its ``text``; two of them are equal if their texts are.

    Made like a dict, without a text, it is spelled as Go would do it.
    """

    text: str

    def __init__(
        self, value: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), text: str | None = None
    ) -> None:
        super().__init__(value)
        self.text = canonical(self) if text is None else text

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, RawObject) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


def spelled(value: Any) -> Any:
    """A value whose text is not known, in the spelling that Go would give it."""
    return RawObject(value, canonical(value)) if type(value) is dict else value


def size(value: Any) -> int:
    """Bytes of the text."""
    return len((value.text if isinstance(value, RawObject) else canonical(value)).encode())


def compact(value: RawObject) -> str:
    """The text as merge and JSON patches leave it: without blanks, ``<`` and the like escaped."""
    pieces = (piece for piece in _PIECE.findall(value.text) if not piece.isspace())
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], "".join(pieces))


def canonical(value: Any) -> str:
    """The text as Go encodes a decoded value: sorted members, numbers in one spelling."""
    if isinstance(value, dict):
        members = (f"{_string(key)}:{canonical(value[key])}" for key in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(part) for part in value) + "]"
    if isinstance(value, str):
        return _string(value)
    if value is True or value is False or value is None:
        return json.dumps(value)
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return str(value)
    return _number(value)


def _string(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], json.dumps(text, ensure_ascii=False))


def _number(value: Any) -> str:
    try:
        number = float(value)
    except OverflowError:
        return str(value)
    if number.is_integer() and abs(number) < _LARGEST_PLAIN:
        return str(int(number))
    text = float.__repr__(number)
    mantissa, exponent, power = text.partition("e")
    if exponent and _SMALLEST_PLAIN <= abs(number) < _LARGEST_PLAIN:
        return f"{number:.20f}".rstrip("0")
    if not exponent:
        return text
    sign = "-" if power.startswith("-") else "+"
    digits = power.lstrip("+-").lstrip("0")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa}e{sign}{digits if sign == '-' else digits.zfill(2)}"


def text_of(value: Any) -> str:
    """Any value in compact JSON, free JSON and numbers as they were sent."""
    if isinstance(value, RawObject):
        return compact(value)
    if isinstance(value, dict):
        members = (f"{json.dumps(key)}:{text_of(part)}" for key, part in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(text_of(part) for part in value) + "]"
    if isinstance(value, JsonFloat):
        return value.text
    return json.dumps(value, ensure_ascii=False)


def rewritten(value: Any, spell: Callable[[RawObject], str]) -> Any:
    """The value with the text of every raw object in it spelled anew."""
    if isinstance(value, RawObject):
        return RawObject(value, spell(value))
    if isinstance(value, dict):
        return {key: rewritten(part, spell) for key, part in value.items()}
    if isinstance(value, list):
        return [rewritten(part, spell) for part in value]
    return value


@functools.cache
def has_raw(kind: str) -> bool:
    """True if a type of the table has free JSON somewhere."""
    return _has_raw(kind, frozenset())


def _has_raw(kind: str, above: frozenset[str]) -> bool:
    return any(
        field.base == "raw"
        or (
            field.base == "message"
            and field.message not in above
            and _has_raw(field.message, above | {kind})
        )
        for field in typetable.message(kind).by_name.values()
    )


def keep_texts(kind: str, value: Json, text: str) -> None:
    """Put raw objects in the place of the free JSON in ``value``, which was decoded from ``text``.

    The text is known to be legal JSON.
    """
    if has_raw(kind):
        _Reader(text).message(typetable.message(kind).by_name, value, 0)


_DECODER: Final = json.JSONDecoder(parse_float=JsonFloat)
"""Reads one value and tells where it ends."""


class _Reader:
    """Walks through a text beside the value that it stands for, only as deep as needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _skip(self, at: int) -> int:
        match = _BLANKS.match(self._text, at)
        return at if match is None else match.end()

    def _end(self, at: int) -> int:
        return _DECODER.raw_decode(self._text, at)[1]

    def message(self, fields: Mapping[str, Field], value: Any, at: int) -> int:
        """Read an object; returns where it ends."""
        start = self._skip(at)
        if not isinstance(value, dict) or self._text[start] != "{":
            return self._end(start)
        at = self._skip(start + 1)
        while self._text[at] != "}":
            if self._text[at] == ",":
                at = self._skip(at + 1)
            name, at = _DECODER.raw_decode(self._text, at)
            at = self._skip(self._skip(at) + 1)
            field = fields.get(name)
            if field is None or name not in value:
                at = self._end(at)
            else:
                at = self._field(field, value, name, at)
            at = self._skip(at)
        return at + 1

    def _field(self, field: Field, holder: Any, key: str | int, at: int) -> int:
        value = holder[key]
        if field.base == "raw" and not field.container:
            end = self._end(at)
            if type(value) is dict:
                holder[key] = RawObject(value, self._text[at:end])
            return end
        if field.base != "message" or not has_raw(field.message) or field.container == "map":
            return self._end(at)
        inner = typetable.message(field.message).by_name
        if field.container == "list" and isinstance(value, list) and self._text[at] == "[":
            return self._list(inner, value, at)
        return self.message(inner, value, at)

    def _list(self, fields: Mapping[str, Field], values: list[Any], at: int) -> int:
        at = self._skip(at + 1)
        for value in values:
            if self._text[at] == ",":
                at = self._skip(at + 1)
            at = self._skip(self.message(fields, value, at))
        return at + 1
