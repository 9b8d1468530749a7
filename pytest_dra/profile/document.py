"""YAML text to plain JSON data, with the line of every value.

Imports PyYAML, so it is imported only where a profile file is read. The scalars are those of
YAML 1.2's core schema (``yes`` and ``on`` are strings, ``2026-01-31`` is one too), because
everything here ends up as JSON or as an argument of a process.
"""

from __future__ import annotations

import dataclasses
import math
import re

import yaml

from pytest_dra.profile.problems import Path
from pytest_dra.profile.problems import Problem
from pytest_dra.profile.problems import shown
from pytest_dra.profile.problems import spelled
from pytest_dra.spec import Json

DEPTH_LIMIT = 64
"""Nesting of a document: a profile needs ten; PyYAML and JSON schema recurse for each."""

NODE_LIMIT = 50_000
"""Values of a document with its aliases written out: aliases of aliases multiply quickly."""

TAG = "tag:yaml.org,2002:"
STRING, NULL, BOOL, INT, FLOAT = (TAG + each for each in ("str", "null", "bool", "int", "float"))
MERGE_KEY = "<<"

SURROGATE = re.compile("[\ud800-\udfff]")
"""What YAML's escapes can write and no file, process or report can hold."""

REFUSED: object = None
"""Stands for a value that has become a problem."""

SCALARS = (
    (NULL, r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    (BOOL, r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    (INT, r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        FLOAT,
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+0123456789."),
    ),
)
"""Tag, spelling and possible first characters of the plain scalars that are no strings."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands; both count from 1."""

    line: int
    column: int


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """The data of a file, the places of its keys and items by path, and what is wrong so far."""

    data: object
    places: dict[Path, Place]
    problems: list[Problem]

    def place(self, path: Path) -> Place:
        """The place of a value, or of the nearest value round it that has one."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))

    def problem(self, path: Path, message: str) -> Problem:
        """A problem at the place of ``path``."""
        place = self.place(path)
        return Problem(place.line, place.column, spelled(path), message)


class _Loader(yaml.SafeLoader):
    """PyYAML's parser with the core schema's scalars and a bounded depth."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise yaml.MarkedYAMLError(
                problem=f"nested deeper than {DEPTH_LIMIT} levels", problem_mark=self.get_mark()
            )
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


_Loader.yaml_implicit_resolvers = {}
for _tag, _spelling, _first in SCALARS:
    _Loader.add_implicit_resolver(_tag, re.compile(f"^(?:{_spelling})$"), _first)


def read_document(text: str) -> Document:
    """Parse one YAML document of ordinary size.

    Syntax errors, duplicate keys, foreign tags and the like become problems of the result; where
    the text is no YAML at all its ``data`` is None.
    """
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        return Document(None, {}, [_unreadable(text, error)])
    except yaml.MarkedYAMLError as error:
        return Document(None, {}, [_syntax(error)])
    document = Document(None, {}, [])
    if node is None:
        return document
    reader = _Reader(document)
    return dataclasses.replace(document, data=reader.value(node, ()))


def _unreadable(text: str, error: yaml.reader.ReaderError) -> Problem:
    """A character that YAML forbids, where it stands."""
    before = text[: error.position]
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return Problem(line, column, "", f"YAML forbids the character {text[error.position]!r}")


def _syntax(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    message = f"not YAML: {error.problem or error.context}"
    if error.context and error.problem:
        message += f" ({error.context})"
    if mark is None:
        return Problem(1, 1, "", message)
    return Problem(mark.line + 1, mark.column + 1, "", message)


class _Reader:
    """Turns nodes into values and notes their places."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._nodes = 0
        self._open: set[int] = set()

    def value(self, node: yaml.Node, path: Path) -> object:
        """The plain value of ``node``, which stands at ``path``."""
        self._document.places.setdefault(path, _place(node))
        self._nodes += 1
        if self._nodes > NODE_LIMIT:
            if self._nodes == NODE_LIMIT + 1:
                self._refuse(node, (), f"more than {NODE_LIMIT} values, aliases written out")
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._open:
            return self._refuse(node, path, "an alias inside of what it stands for")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return self._sequence(node, path)
            return self._mapping(node, path)
        finally:
            self._open.discard(id(node))

    def _sequence(self, node: yaml.SequenceNode, path: Path) -> object:
        if node.tag != f"{TAG}seq":
            return self._refuse(node, path, f"the tag {node.tag!r} is not allowed here")
        return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]

    def _mapping(self, node: yaml.Node, path: Path) -> object:
        if node.tag != f"{TAG}map":
            return self._refuse(node, path, f"the tag {node.tag!r} is not allowed here")
        found: Json = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            at = (*path, key)
            if key in found:
                first = self._document.place(at).line
                self._refuse(key_node, at, f"the key is there already, in line {first}")
                continue
            self._document.places[at] = _place(key_node)
            found[key] = self.value(value_node, at)
        return found

    def _key(self, node: yaml.Node, path: Path) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(node, path, "a key must be a string, not a list or a mapping")
            return None
        text = str(node.value)
        if SURROGATE.search(text):
            self._refuse(node, path, "a key with half of a surrogate pair is no text")
            return None
        if node.style is None and text == MERGE_KEY:
            self._refuse(node, path, "merge keys (<<) are not read; write the keys out")
            return None
        if node.tag != STRING:
            self._refuse(node, path, f"got the key {shown(text)}, want a string; put it in quotes")
            return None
        return text

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> object:
        text = str(node.value)
        if node.tag == STRING:
            if SURROGATE.search(text):
                return self._refuse(node, path, "half of a surrogate pair is no character")
            return text
        if node.tag == NULL:
            return None
        if node.tag == BOOL:
            return text.lower() == "true"
        if node.tag in (INT, FLOAT):
            return self._number(node, text, path)
        return self._refuse(node, path, f"the tag {node.tag!r} is not allowed here")

    def _number(self, node: yaml.ScalarNode, text: str, path: Path) -> object:
        try:
            if node.tag == INT:
                return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            return self._refuse(node, path, f"got {shown(text)}, which is no number that fits here")
        if not math.isfinite(number):
            return self._refuse(node, path, f"got {shown(text)}, want a finite number")
        return number

    def _refuse(self, node: yaml.Node, path: Path, message: str) -> object:
        place = _place(node)
        problem = Problem(place.line, place.column, spelled(path), message)
        self._document.problems.append(problem)
        return REFUSED


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
