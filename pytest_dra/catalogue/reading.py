"""From ``cases.json`` to a :class:`Catalogue`."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from pytest_dra.catalogue.model import Area
from pytest_dra.catalogue.model import Catalogue
from pytest_dra.catalogue.model import ConformanceProfile
from pytest_dra.catalogue.model import Feature
from pytest_dra.catalogue.model import Retired
from pytest_dra.spec import Case
from pytest_dra.spec import Depth
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import Source

DATA = Path(__file__).with_name("cases.json")
SCHEMA = Path(__file__).with_name("cases.schema.json")

HASH_DIGITS = 16
"""Digits of the hash that reports show: 64 bits tell editions of one file apart for ever."""

RETIRED = "retired"

_NOTES = re.compile(r" \(contract [^)]*\)")
"""Sections of the project's own notes, which a reader of a report does not have."""

T = TypeVar("T")


@functools.cache
def catalogue() -> Catalogue:
    """The packaged catalogue, read once per process."""
    return read_catalogue(DATA.read_bytes())


def read_catalogue(data: bytes) -> Catalogue:
    """Build a catalogue from the bytes of a file of the form of ``cases.schema.json``.

    Raises:
        KeyError, ValueError: ``data`` is not of that form. The packaged file is checked against
            its schema by the project's tests and not again here.
    """
    document = json.loads(data)
    living = [each for each in document["cases"] if each["level"] != RETIRED]
    gone = [each for each in document["cases"] if each["level"] == RETIRED]
    return Catalogue(
        hash=hashlib.sha256(data).hexdigest()[:HASH_DIGITS],
        kubernetes=tuple(document["kubernetes"]),
        cases=_by("id", living, _case),
        retired=_by("id", gone, _retired),
        features=_by("name", document["features"], lambda each: Feature(**each)),
        profiles=_by("name", document["profiles"], _profile),
        areas=_by(
            "area", document["areas"], lambda each: Area(name=each["area"], title=each["title"])
        ),
        inputs=_by("field", document["inputs"], _text),
        variants=_by("id", document["variants"], _text),
        terms=_by("term", document["terms"], _text),
        also_fails=_by("id", living, lambda each: tuple(each["also_fails"])),
        also_depths=_by("id", living, lambda each: tuple(map(Depth, each["also_depths"]))),
        tolerates=_by("id", living, lambda each: tuple(each["tolerates"])),
        checks=_by("id", living, lambda each: tuple(each["check"])),
    )


def _by(key: str, items: Iterable[Json], build: Callable[[Json], T]) -> Mapping[str, T]:
    """Index ``items`` by a field that must be unique."""
    found: dict[str, T] = {}
    for item in items:
        name = item[key]
        if name in found:
            raise ValueError(f"{key} {name!r} occurs twice in the catalogue")
        found[name] = build(item)
    return MappingProxyType(found)


def _text(item: Json) -> str:
    return str(item["text"])


def _profile(item: Json) -> ConformanceProfile:
    return ConformanceProfile(name=item["name"], depth=Depth(item["depth"]), text=item["text"])


def _retired(item: Json) -> Retired:
    return Retired(
        id=item["id"],
        title=item["title"],
        level_before=Level(item["level_before"]),
        reason=item["level_reason"],
    )


def _case(item: Json) -> Case:
    return Case(
        id=item["id"],
        area=item["area"],
        level=Level(item["level"]),
        title=item["title"],
        requirement=item["requirement"],
        depth=Depth(item["depth"]),
        features=tuple(item["features"]),
        unless=tuple(item["unless"]),
        since=item["since"],
        until=item["until"],
        profiles=tuple(item["profile"]),
        sources=tuple(
            Source(each["kind"], _NOTES.sub("", each["ref"])) for each in item["sources"]
        ),
        breaks=item["breaks"],
        fault=item["fault"],
        needs=tuple(item["needs"]),
        observation=item["observation"],
        traffic=item["traffic"],
        disruptive=item["disruptive"],
        inputs=tuple(item["inputs"]),
    )
