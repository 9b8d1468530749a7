"""ResourceSlices as ``kubectl get resourceslices -o yaml|json`` prints them, or from a cluster."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.spec import Json

SIZE_MAX: Final = 64 * 1024 * 1024
"""Bytes of input that are read."""

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SliceError(ValueError):
    """The input holds no ResourceSlices; the message says what is wrong."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device of a slice; ``body`` is in the form of ``resource.k8s.io/v1``."""

    driver: str
    pool: str
    name: str
    body: Json

    @property
    def path(self) -> str:
        """Driver, pool and name, as in the results of an allocation."""
        return f"{self.driver}/{self.pool}/{self.name}"


def read(place: str) -> list[Json]:
    """The slices in a file, or in the standard input where ``place`` is ``-``.

    Raises:
        SliceError: it cannot be read, is too large, or holds something else.
    """
    try:
        if place == "-":
            data = sys.stdin.buffer.read(SIZE_MAX + 1)
        else:
            with Path(place).open("rb") as file:
                data = file.read(SIZE_MAX + 1)
    except OSError as error:
        raise SliceError(f"{place}: {error.strerror}") from error
    if len(data) > SIZE_MAX:
        raise SliceError(f"{place}: more than {SIZE_MAX} bytes")
    return parse(data, place)


def parse(data: bytes, place: str) -> list[Json]:
    """The slices in YAML or JSON text: a list, one slice, or several documents."""
    try:
        text = data.decode()
        if text.lstrip()[:1] == "{":
            documents = [json.loads(text)]
        else:
            documents = list(yaml.load_all(text, Loader=_LOADER))
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        first = str(error).split("\n", maxsplit=1)[0]
        raise SliceError(f"{place}: neither YAML nor JSON: {first}") from error
    found = [one for document in documents if document is not None for one in _slices(document)]
    for one in found:
        if not isinstance(one, dict) or one.get("kind") != "ResourceSlice":
            kind = one.get("kind") if isinstance(one, dict) else type(one).__name__
            raise SliceError(f"{place}: want ResourceSlices, got {kind!r:.60}")
    return found


def _slices(document: Any) -> list[Any]:
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        items: list[Any] = document["items"]
        if document.get("kind") == "ResourceSliceList":
            # Items of a typed list need no kind of their own.
            return [
                {"kind": "ResourceSlice", **item} if isinstance(item, dict) else item
                for item in items
            ]
        return items
    return [document]


def devices(slices: list[Json]) -> tuple[list[Device], int]:
    """The devices of the newest generation of each pool, and how many slices are older.

    Raises:
        SliceError: a slice has not the form that it should have.
    """
    newest: dict[tuple[str, str], int] = {}
    specs = []
    for number, one in enumerate(slices, 1):
        spec = one.get("spec")
        pool = spec.get("pool") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(pool, dict):
            raise SliceError(f"slice {number}: no spec with a pool")
        key = (str(spec.get("driver", "")), str(pool.get("name", "")))
        generation = pool.get("generation", 0)
        if not isinstance(generation, int):
            raise SliceError(f"slice {number}: the pool's generation is no number")
        newest[key] = max(newest.get(key, generation), generation)
        specs.append((key, generation, spec.get("devices") or []))
    current = [(key, listed) for key, generation, listed in specs if generation == newest[key]]
    found = [one for key, listed in current for one in _devices(key, listed)]
    return found, len(specs) - len(current)


def _devices(key: tuple[str, str], listed: Any) -> Iterator[Device]:
    if not isinstance(listed, list):
        raise SliceError(f"pool {key[0]}/{key[1]}: devices is no list")
    for device in listed:
        body = device
        if isinstance(device, dict) and isinstance(device.get("basic"), dict):
            body = {"name": device.get("name"), **device["basic"]}  # v1beta1
        if not isinstance(body, dict):
            raise SliceError(f"pool {key[0]}/{key[1]}: a device is no mapping")
        yield Device(driver=key[0], pool=key[1], name=str(body.get("name", "")), body=body)
