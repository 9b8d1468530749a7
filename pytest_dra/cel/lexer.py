"""Text to tokens. Tokens that do not exist are reported and skipped, as CEL's reference does."""

from __future__ import annotations

import dataclasses
import re
from typing import Final

_ESCAPE: Final = (
    r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
_STRING: Final = (
    rf"(?:\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"|'''(?:{_ESCAPE}|[^\\])*?'''"
    r"|[rR]\"\"\"[\s\S]*?\"\"\"|[rR]'''[\s\S]*?'''"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r"|[rR]\"[^\"\n\r]*\"|[rR]'[^'\n\r]*')"
)
_TOKEN: Final = re.compile(
    r"(?P<space>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<bytes>[bB]{_STRING})"
    rf"|(?P<string>{_STRING})"
    r"|(?P<ident>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<escaped>`[A-Za-z0-9_./ -]+`)"
    r"|(?P<op>==|!=|<=|>=|&&|\|\||[][<>{}().,!?:+*/%-])"
)
_ESCAPE_AT: Final = re.compile(_ESCAPE)
_WORDS: Final = frozenset({"in", "true", "false", "null"})
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_ESCAPE_DIGITS: Final = {"x": 2, "X": 2, "u": 4, "U": 8}


@dataclasses.dataclass(slots=True)
class Token:
    """``kind`` is the text itself for operators and for ``in true false null``."""

    kind: str
    text: str
    offset: int


def tokens(text: str) -> tuple[list[Token], list[tuple[int, str]]]:
    """The tokens, ended by one of kind ``end``, and where and what could not be read."""
    found: list[Token] = []
    faults: list[tuple[int, str]] = []
    position, size = 0, len(text)
    match_at = _TOKEN.match
    while position < size:
        match = match_at(text, position)
        if match is None:
            end = min(_failing(text, position) + 1, size)
            faults.append((position, text[position:end]))
            position = end
            continue
        kind = match.lastgroup
        if kind != "space":
            part = match.group()
            if kind == "op" or (kind == "ident" and part in _WORDS):
                kind = part
            found.append(Token(kind or "", part, position))
        position = match.end()
    found.append(Token("end", "", size))
    return found, faults


def _failing(text: str, start: int) -> int:
    """Index of the character at which no token can go on; the text's length for its end."""
    first = text[start]
    position = start + 1
    if first in "\"'":
        return _failing_string(text, position, first)
    if first == "`":
        while position < len(text) and (
            (text[position].isascii() and text[position].isalnum()) or text[position] in "_./- "
        ):
            position += 1
        return position
    return position if first in "=&|" else start


def _failing_string(text: str, position: int, quote: str) -> int:
    size = len(text)
    while position < size:
        char = text[position]
        if char == "\\":
            escape = _ESCAPE_AT.match(text, position)
            if escape is None:
                return _failing_escape(text, position + 1)
            position = escape.end()
        elif char in "\n\r" or char == quote:
            return position
        else:
            position += 1
    return size


def _failing_escape(text: str, position: int) -> int:
    letter = text[position : position + 1]
    if letter in _ESCAPE_DIGITS and letter:
        limit = position + 1 + _ESCAPE_DIGITS[letter]
        position += 1
        while position < min(limit, len(text)) and text[position] in _HEX:
            position += 1
    elif letter and letter in "0123":
        position += 1
        if text[position : position + 1] and text[position] in "01234567":
            position += 1
    return position
