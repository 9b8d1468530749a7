"""The image under test: in the engine, or brought there from a registry."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Final

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.containers.archives import is_archive
from pytest_dra.containers.archives import loaded
from pytest_dra.launch.tool import ToolError

PULL_S: Final = 600.0
"""Longest download of an image."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """``name`` by which the engine knows it; ``entrypoint`` and ``command`` are its own."""

    name: str
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


def provided(engine: Engine, given: str) -> Image:
    """An image: in the engine, in a file, or pulled.

    Raises:
        ClusterError: it is nowhere; with what to do.
    """
    name = loaded(engine, Path(given)) if is_archive(given) else given
    try:
        if not engine.has_image(name):
            _pull(engine, name)
        return _inspected(engine, name)
    except ToolError as error:
        raise ClusterError(f"image {name}: {error}") from error


def _pull(engine: Engine, name: str) -> None:
    try:
        engine.call(["pull", "--quiet", name], timeout_s=PULL_S)
    except ToolError as error:
        said = error.said.rpartition("\n")[2] or str(error)
        raise ClusterError(
            f"{engine.name} has no image {name}, and cannot pull it: {said}. Build it, load it "
            f"({engine.program} load --input FILE), or give an archive or OCI layout in its place"
        ) from error


def _inspected(engine: Engine, name: str) -> Image:
    text = engine.call(["image", "inspect", "--format", "{{json .Config}}", name])
    try:
        config = json.loads(text) or {}
    except ValueError as error:
        raise ClusterError(f"image {name}: {engine.name} describes it as {text[:80]!r}") from error
    return Image(name=name, entrypoint=_words(config, "Entrypoint"), command=_words(config, "Cmd"))


def _words(config: object, field: str) -> tuple[str, ...]:
    found = config.get(field) if isinstance(config, dict) else None
    return tuple(map(str, found)) if isinstance(found, list) else ()
