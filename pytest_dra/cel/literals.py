"""The values of number and string literals."""

from __future__ import annotations

import math
import re
from typing import Final

from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import INT_MIN
from pytest_dra.cel.values import UINT_MAX
from pytest_dra.cel.values import Uint

_SIMPLE: Final = {
    "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11,
    "\\": 92, "'": 39, '"': 34, "`": 96, "?": 63,
}  # fmt: skip
_ESCAPED: Final = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|[xX]([0-9a-fA-F]{2})"
    r"|(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)
_DIGITS_MAX: Final = 400
"""Longest number that is looked at: Python converts long digit strings in quadratic time."""


class LiteralError(ValueError):
    """The literal has the right form but no value; the argument is the class."""


def int_value(text: str, *, negative: bool) -> int:
    """An int literal with its sign.

    Raises:
        LiteralError: outside 64 bits.
    """
    digits = text[2:] if text.startswith("0x") else text
    value = _whole(digits, 16 if text.startswith("0x") else 10)
    value = -value if negative else value
    if not INT_MIN <= value <= INT_MAX:
        raise LiteralError("literal-number")
    return value


def uint_value(text: str) -> Uint:
    """An uint literal, its suffix included.

    Raises:
        LiteralError: outside 64 bits.
    """
    text = text[:-1]
    digits = text[2:] if text.startswith("0x") else text
    value = _whole(digits, 16 if text.startswith("0x") else 10)
    if value > UINT_MAX:
        raise LiteralError("literal-number")
    return Uint(value)


def _whole(digits: str, base: int) -> int:
    digits = digits.lstrip("0") or "0"
    if len(digits) > _DIGITS_MAX:
        raise LiteralError("literal-number")
    return int(digits, base)


def double_value(text: str) -> float:
    """A double literal.

    Raises:
        LiteralError: it overflows.
    """
    value = float(text)
    if math.isinf(value):
        raise LiteralError("literal-number")
    return value


def string_value(text: str) -> str:
    """A string literal with its quotes and prefix.

    Raises:
        LiteralError: an escape stands for no character.
    """
    raw, body = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPED.sub(_character, body)


def bytes_value(text: str) -> bytes:
    """A bytes literal with its quotes and prefixes.

    Raises:
        LiteralError: a Unicode escape, which bytes do not have.
    """
    raw, body = _body(text[1:])
    if raw or "\\" not in body:
        return body.encode()
    parts = []
    position = 0
    for match in _ESCAPED.finditer(body):
        if match[3] is not None:
            raise LiteralError("literal-string")
        parts.append(body[position : match.start()].encode())
        parts.append(bytes((_code(match),)))
        position = match.end()
    parts.append(body[position:].encode())
    return b"".join(parts)


def _body(text: str) -> tuple[bool, str]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return raw, text[width:-width]


def _code(match: re.Match[str]) -> int:
    if match[1] is not None:
        return _SIMPLE[match[1]]
    if match[4] is not None:
        return int(match[4], 8)
    return int(match[2] or match[3][1:], 16)


def _character(match: re.Match[str]) -> str:
    code = _code(match)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("literal-string")
    return chr(code)


def value(kind: str, text: str, *, negative: bool) -> object:
    """The value of a token of a kind, with a minus in front if ``negative``.

    Raises:
        LiteralError: it has none.
    """
    if kind == "string":
        return string_value(text)
    if kind == "int":
        return int_value(text, negative=negative)
    if kind == "double":
        number = double_value(text)
        return -number if negative else number
    if kind == "uint":
        return uint_value(text)
    if kind == "bytes":
        return bytes_value(text)
    return {"true": True, "false": False, "null": None}[kind]
