"""JSON text into documents with lines; several values may follow each other."""

from __future__ import annotations

import json
import re
from typing import Final

from pytest_dra.embedded.scalars import JsonFloat
from pytest_dra.objects.tree import Builder
from pytest_dra.objects.tree import InputError

_TOKEN: Final = re.compile(
    r"(?P<mark>[{}\[\],:])"
    r'|(?P<text>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][-+]?[0-9]+)?)"
    r"|(?P<word>true|false|null)"
)
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_WORDS: Final = {"true": True, "false": False, "null": None}

_VALUE, _FIRST, _NAME, _FIRST_NAME, _COLON, _AFTER = range(6)
"""What comes next: a value; a value or ``]``; a name; a name or ``}``; ``:``; ``,`` or an end."""


class _Reader:
    def __init__(self, text: str, builder: Builder) -> None:
        self._text = text
        self._builder = builder
        self._open: list[str] = []
        self._line = 1
        self._seen = 0
        self._state = _VALUE

    def run(self) -> None:
        """Read everything."""
        text, position = self._text, 0
        while True:
            blanks = _BLANKS.match(text, position)
            position = blanks.end() if blanks else position
            self._line += text.count("\n", self._seen, position)
            self._seen = position
            if position == len(text):
                break
            if not self._open and self._state == _VALUE:
                self._builder.begin_document()
            found = _TOKEN.match(text, position)
            if found is None:
                raise InputError(self._line, f"no JSON: {text[position : position + 20]!r}")
            self._take(found)
            position = found.end()
        if self._open:
            raise InputError(self._line, "no JSON: the text ends within a value")

    def _take(self, found: re.Match[str]) -> None:
        mark = found["mark"]
        if mark is None:
            self._take_scalar(found)
        elif mark in "{[":
            self._want(mark, _VALUE, _FIRST)
            self._open.append(mark)
            self._builder.begin({} if mark == "{" else [], self._line)
            self._state = _FIRST_NAME if mark == "{" else _FIRST
        elif mark in "}]":
            fits = self._open and self._open[-1] == ("{" if mark == "}" else "[")
            if not fits or self._state not in (_AFTER, _FIRST, _FIRST_NAME):
                raise self._unexpected(mark)
            self._open.pop()
            self._builder.end()
            self._state = _AFTER if self._open else _VALUE
        elif mark == ":":
            self._want(mark, _COLON)
            self._state = _VALUE
        else:
            self._want(mark, _AFTER)
            self._state = _NAME if self._open[-1] == "{" else _VALUE

    def _take_scalar(self, found: re.Match[str]) -> None:
        text = found[0]
        if self._state in (_NAME, _FIRST_NAME):
            if found["text"] is None:
                raise self._unexpected(text)
            self._state = _COLON
        else:
            self._want(text, _VALUE, _FIRST)
            self._state = _AFTER if self._open else _VALUE
        self._builder.scalar(self._value(found), self._line)

    def _value(self, found: re.Match[str]) -> object:
        text = found[0]
        try:
            if found["text"] is not None:
                return json.loads(text)
            if found["number"] is not None:
                plain = found["fraction"] is None and found["exponent"] is None
                return int(text) if plain else JsonFloat(text)
        except ValueError as error:
            raise InputError(self._line, f"no JSON: {error}") from error
        return _WORDS[text]

    def _want(self, text: str, *states: int) -> None:
        if self._state not in states:
            raise self._unexpected(text)

    def _unexpected(self, text: str) -> InputError:
        return InputError(self._line, f"no JSON: {text[:20]!r} is not expected here")


def read(text: str, builder: Builder) -> None:
    """Read all values of a text.

    Raises:
        InputError: it is no JSON, or too much of it.
    """
    _Reader(text, builder).run()
