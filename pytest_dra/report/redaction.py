"""Secrets taken out of what a report quotes: command lines, environment, profile, logs.

A report is meant to be published. What looks like a credential is replaced; what merely might be
one (a driver's own parameter) is left, because a report must also be readable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_dra.report.secretforms import AT_LAST
from pytest_dra.report.secretforms import BACKWARDS
from pytest_dra.report.secretforms import END
from pytest_dra.report.secretforms import HEADLESS
from pytest_dra.report.secretforms import HELD_OBJECT
from pytest_dra.report.secretforms import HELD_VALUE
from pytest_dra.report.secretforms import NAMED
from pytest_dra.report.secretforms import NAMED_AT_ALL
from pytest_dra.report.secretforms import REDACTED
from pytest_dra.report.secretforms import SECRET_OBJECT
from pytest_dra.report.secretforms import WITHOUT_NAMES

SECRET_NAME = re.compile(
    r"(?i)(^|[-_.])(tokens?|secret|passwords?|passwd|passphrase|credentials?|api[-_]?key"
    r"|private[-_]?key|access[-_]?key|account[-_]?key|signing[-_]?key|encryption[-_]?key"
    r"|key[-_]?data|authorization|bearer|cookie)($|[-_.])"
)
"""Names of fields, variables and options whose value is a secret."""

PASSWORD_NAME = re.compile(r"(?i)(^|[-_.])(passwords?|passwd|passphrase)$")
"""Names of those whose values may be numbers."""

HOLDER = "Secret"
HOLDERS = f"{HOLDER}List"
"""The kind of object whose content is secret, and of many of them."""

AUTH = frozenset({"auth", "_auth"})
CODED = re.compile("[A-Za-z0-9+/]{8,}={0,2}")
"""User and password for a registry, as container engines and others have them in base64."""

HELD = frozenset({"data", "stringData"})
"""Fields of it whose values are secret, whatever their names are."""

CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where a word begins inside of a camelCase name."""


def redacted(text: str) -> str:
    """``text`` without tokens, passwords, keys and paths of kubeconfig files."""
    if SECRET_OBJECT.search(text):
        text = HELD_OBJECT.sub(_without_values, text)
    named = NAMED if NAMED_AT_ALL.search(text) else ()
    for pattern, replacement in (*WITHOUT_NAMES, *named, *AT_LAST):
        text = pattern.sub(replacement, text)
    return _without_ends(text)


def _without_values(held: re.Match[str]) -> str:
    return held[1] + HELD_VALUE.sub(rf"\1{REDACTED}", held[2])


def _without_ends(text: str) -> str:
    """The text without keys whose begin was cut off. Those that are whole have gone before."""
    kept, begin = [], 0
    for end in END.finditer(text):
        before = text[max(begin, end.start() - HEADLESS) : end.start()]
        lines = BACKWARDS.match(before[::-1])
        kept += [text[begin : end.start() - (lines.end() if lines else 0)], REDACTED]
        begin = end.end()
    return "".join([*kept, text[begin:]])


def redacted_data(value: object) -> object:
    """Plain data (mappings, lists, scalars) with every string redacted.

    Of a field whose name says that it is secret (``apiToken``, ``DB_PASSWORD``) nothing is left,
    nor of a list of texts there, nor of the ``value`` beside such a ``name``; the element after an
    option such as ``--token`` or ``--kubeconfig`` in a list is replaced too, and everything that a
    Kubernetes Secret holds.
    """
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, (list, tuple)):
        return _list(value)
    return value


def _mapping(value: Mapping[object, object]) -> object:
    if value.get("kind") == HOLDER:
        value = {key: _emptied(each) if key in HELD else each for key, each in value.items()}
    items = value.get("items")
    if value.get("kind") == HOLDERS and isinstance(items, list):
        holders = [
            {"kind": HOLDER, **each} if isinstance(each, Mapping) else each for each in items
        ]
        value = {**value, "items": holders}
    name = value.get("name")
    if "value" in value and isinstance(name, str) and is_secret_name(name):
        value = {**value, "value": _hidden(value["value"])}
    return {key: _field(str(key), each) for key, each in value.items()}


def _field(name: str, value: object) -> object:
    if name in AUTH and isinstance(value, str) and CODED.fullmatch(value):
        return REDACTED
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return REDACTED if PASSWORD_NAME.search(CAMEL.sub("_", name)) else value
    return redacted_data(_hidden(value) if is_secret_name(name) else value)


def _hidden(value: object) -> object:
    """What is left of a secret's value; what is no text is some object that speaks of it."""
    if isinstance(value, str):
        return REDACTED if value else value
    if isinstance(value, (list, tuple)):
        return [_hidden(each) for each in value]
    return value


def _emptied(held: object) -> object:
    return dict.fromkeys(held, REDACTED) if isinstance(held, Mapping) else REDACTED


def is_secret_name(name: str) -> bool:
    """True if a field, variable or option of this name holds a credential."""
    return SECRET_NAME.search(CAMEL.sub("_", name)) is not None


def _list(items: list[object] | tuple[object, ...]) -> list[object]:
    found: list[object] = []
    after_secret = False
    for item in items:
        literal = isinstance(item, str) and not item.startswith(("-", "{"))
        found.append(REDACTED if after_secret and literal else redacted_data(item))
        after_secret = isinstance(item, str) and _takes_secret(item)
    return found


def _takes_secret(word: str) -> bool:
    """True if the next word of a command line is the value of this secret option."""
    if not word.startswith("-") or "=" in word:
        return False
    return is_secret_name(word) or word.lstrip("-").lower() == "kubeconfig"
