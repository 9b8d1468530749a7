"""Objects out of files: YAML or JSON, several documents, lists; each with its place."""

from __future__ import annotations

import bisect
import dataclasses
import sys
from pathlib import Path
from typing import Final

from pytest_dra.objects import jsontext
from pytest_dra.objects import yamltext
from pytest_dra.objects.tree import Builder
from pytest_dra.objects.tree import Document
from pytest_dra.objects.tree import InputError
from pytest_dra.objects.tree import Places
from pytest_dra.spec import Json

SIZE_MAX: Final = 64 * 1024 * 1024
"""Bytes of a file that are read."""

OBJECTS_MAX: Final = 100_000
"""Objects of all files: more than the largest clusters have slices."""

STANDARD_INPUT: Final = "-"
STANDARD_INPUT_NAME: Final = "<stdin>"


class ReadingError(ValueError):
    """An input cannot be used. The text begins with the file, and the line where it is known."""

    def __init__(self, file: str, line: int, why: str) -> None:
        self.file = file
        self.line = line
        self.why = why
        super().__init__(f"{file}:{line}: {why}" if line else f"{file}: {why}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """One object as it was given: plain data, and where it stands.

    ``api_version`` and ``kind`` are what it says, or what its list says of it. ``repeated`` are
    (line, name) of fields that one mapping of the object has twice.
    """

    file: str
    line: int
    api_version: str
    kind: str
    body: Json
    places: Places | None = None
    repeated: tuple[tuple[int, str], ...] = ()

    @property
    def name(self) -> str:
        """Its name, with the namespace if there is one."""
        metadata = self.body.get("metadata")
        if not isinstance(metadata, dict):
            return ""
        name = metadata.get("name") or metadata.get("generateName") or ""
        namespace = metadata.get("namespace")
        return f"{namespace}/{name}" if namespace else str(name)


def read_files(places: list[str]) -> list[Given]:
    """The objects of all files; ``-`` is the standard input.

    Raises:
        ReadingError: one of them cannot be read, or holds something else than objects.
    """
    found: list[Given] = []
    for place in places:
        found += _read_file(place)
        if len(found) > OBJECTS_MAX:
            raise ReadingError(place, 0, f"more than {OBJECTS_MAX} objects")
    return found


def _read_file(place: str) -> list[Given]:
    try:
        if place == STANDARD_INPUT:
            place, data = STANDARD_INPUT_NAME, sys.stdin.buffer.read(SIZE_MAX + 1)
        else:
            with Path(place).open("rb") as file:
                data = file.read(SIZE_MAX + 1)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise ReadingError(place, 0, str(said)) from error
    return parse(data, place)


def parse(data: bytes, file: str) -> list[Given]:
    """The objects of a text.

    Raises:
        ReadingError: it is too large, no YAML or JSON, or holds something else than objects.
    """
    if len(data) > SIZE_MAX:
        raise ReadingError(file, 0, f"more than {SIZE_MAX} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadingError(file, line, "the text is no UTF-8") from error
    builder = Builder()
    reader = jsontext if text.lstrip()[:1] == "{" else yamltext
    try:
        reader.read(text, builder)
    except InputError as error:
        raise ReadingError(file, error.line, error.why) from error
    return [given for document in builder.documents for given in _objects(document, file)]


def _objects(document: Document, file: str) -> list[Given]:
    """The objects of a document; lists, of lists even, are taken apart."""
    found: list[Given] = []
    if document.value is None:
        return found
    at = document.places
    waiting = [(document.value, document.line, "", "")]
    while waiting:
        value, line, api_version, kind = waiting.pop()
        if type(value) is not dict:
            got = "a list" if type(value) is list else "a scalar"
            raise ReadingError(file, line, f"want an object of the Kubernetes API, got {got}")
        own_kind, own_version = value.get("kind", kind), value.get("apiVersion", api_version)
        for field, text in (("kind", own_kind), ("apiVersion", own_version)):
            if not isinstance(text, str) or not text:
                raise ReadingError(file, at.child(value, field), f"an object without {field}")
        items = value.get("items")
        if own_kind.endswith("List") and (type(items) is list or items is None):
            inner = ("", "") if own_kind == "List" else (own_version, own_kind[: -len("List")])
            parts = list(enumerate(items or []))
            waiting += [(item, at.child(items, index), *inner) for index, item in reversed(parts)]
            continue
        given = Given(
            file=file, line=line, api_version=own_version, kind=own_kind, body=value, places=at
        )
        found.append(given)
    return _with_repeated(found, document)


def _with_repeated(found: list[Given], document: Document) -> list[Given]:
    """Give each object the fields that are twice in it: those behind its line."""
    by_object: dict[int, list[tuple[int, str]]] = {}
    lines = [given.line for given in found]
    for line, name in document.repeated:
        number = max(bisect.bisect_right(lines, line) - 1, 0)
        by_object.setdefault(number, []).append((line, name))
    return [
        dataclasses.replace(given, repeated=tuple(by_object[number]))
        if number in by_object
        else given
        for number, given in enumerate(found)
    ]
