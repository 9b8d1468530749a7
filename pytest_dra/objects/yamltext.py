"""YAML text into documents with lines, scalars read as Kubernetes' tools read them.

These follow YAML 1.1: ``yes`` and ``on`` are bools, times stay text.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from typing import Any
from typing import Final

import yaml

from pytest_dra.embedded.scalars import JsonFloat
from pytest_dra.objects.tree import MERGE
from pytest_dra.objects.tree import Builder
from pytest_dra.objects.tree import InputError
from pytest_dra.objects.tree import merge_key

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE: Final = frozenset(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSE: Final = frozenset(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"))
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_OTHER_INT: Final = re.compile(
    r"(?P<sign>[-+]?)0(?:x(?P<hex>[0-9a-fA-F_]+)|b(?P<binary>[01_]+)|o?(?P<octal>[0-7_]+))"
)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_TAGS: Final = "tag:yaml.org,2002:"

_INT_MAX: Final = 2**64
"""What is beyond becomes a floating point number."""


class _NotJson(ValueError):
    pass


@functools.lru_cache(maxsize=8192)
def plain(text: str) -> Any:
    """The value of a plain scalar.

    Raises:
        ValueError: it is infinite or no number, which JSON cannot say.
    """
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text == MERGE:
        return merge_key()
    first = text[0]
    if first not in "+-.0123456789":
        return text
    if _INT.fullmatch(text):
        return _number(int(text.replace("_", "")), text) if len(text) <= 30 else _float(text)
    other = _OTHER_INT.fullmatch(text)
    if other is not None and len(text) <= 80:
        return _other_number(other, text)
    if _FLOAT.fullmatch(text):
        return _float(text)
    if _NO_NUMBER.fullmatch(text):
        raise _NotJson(f"{text} cannot be said in JSON")
    return text


def _number(value: int, text: str) -> Any:
    return value if -_INT_MAX < value < _INT_MAX else _float(text)


def _float(text: str) -> Any:
    value = JsonFloat(text.replace("_", "").lstrip("+"))
    if value in (float("inf"), float("-inf")):
        raise _NotJson(f"{text[:30]} is too large for a number")
    return value


def _other_number(found: re.Match[str], text: str) -> Any:
    for name, base in (("hex", 16), ("binary", 2), ("octal", 8)):
        digits = (found[name] or "").replace("_", "")
        if digits:
            value = int(digits, base)
            return _number(-value if found["sign"] == "-" else value, text)
    return text


def _scalar(event: Any, line: int) -> Any:
    tag, text = event.tag, event.value
    try:
        if tag is None:
            return plain(text) if event.implicit[0] else text
        if tag in ("!", f"{_TAGS}str", f"{_TAGS}timestamp"):
            return text
        if tag == f"{_TAGS}binary":
            return base64.b64decode(text, validate=False).decode()
        if tag in [f"{_TAGS}{name}" for name in ("int", "float", "bool", "null")]:
            return plain(text)
    except (_NotJson, binascii.Error, UnicodeDecodeError) as error:
        raise InputError(line, str(error)) from error
    raise InputError(line, f"tag {tag!r:.60} has no meaning here")


def _line(mark: Any) -> int:
    return int(mark.line) + 1 if mark is not None else 0


def read(text: str, builder: Builder) -> None:
    """Read all documents of a text.

    Raises:
        InputError: it is no YAML, or too much of it.
    """
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            _take(event, builder)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(filter(None, (error.context, error.problem)))
        # a text that ends too early ends behind its last line
        line = min(_line(mark), max(len(text.rstrip().splitlines()), 1))
        raise InputError(line, f"no YAML: {said}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        first = str(error).split("\n", maxsplit=1)[0]
        at = getattr(error, "position", None)
        line = text.count("\n", 0, at) + 1 if isinstance(at, int) else 0
        raise InputError(line, f"no YAML: {first}") from error


def _take(event: Any, builder: Builder) -> None:
    kind = type(event)
    if kind is yaml.ScalarEvent:
        line = _line(event.start_mark)
        builder.scalar(_scalar(event, line), line, event.anchor)
    elif kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
        line = _line(event.start_mark)
        if event.tag not in (None, "!", f"{_TAGS}map", f"{_TAGS}seq"):
            raise InputError(line, f"tag {event.tag!r:.60} has no meaning here")
        builder.begin({} if kind is yaml.MappingStartEvent else [], line, event.anchor)
    elif kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
        builder.end()
    elif kind is yaml.AliasEvent:
        builder.alias(event.anchor, _line(event.start_mark))
    elif kind is yaml.DocumentStartEvent:
        builder.begin_document()
