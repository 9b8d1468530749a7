"""What the case modules declare, read from the modules themselves."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from types import ModuleType

import pytest_dra.conformance
from pytest_dra.cases import CASE_PACKAGE
from pytest_dra.cases import LOCK_FILE
from pytest_dra.cases import case_id_of
from pytest_dra.spec import Level

FOLDER = Path(pytest_dra.conformance.__file__).resolve().parent


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One line of the lock: a case, its level, and the version of the suite that brought it."""

    id: str
    level: Level
    version: str


def lock_lines() -> list[str]:
    """The lines of the lock without the comment at its top."""
    text = (FOLDER / LOCK_FILE).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


@functools.cache
def lock() -> tuple[Line, ...]:
    """The lock, line by line."""
    split = [line.split(" ") for line in lock_lines()]
    return tuple(Line(id, Level(level), version) for id, level, version in split)


@functools.cache
def modules() -> tuple[ModuleType, ...]:
    """Every case module, imported."""
    names = sorted(path.stem for path in FOLDER.glob("test_*.py"))
    return tuple(importlib.import_module(f"{CASE_PACKAGE}.{name}") for name in names)


def collected_from(module: ModuleType) -> Iterator[FunctionType]:
    """The functions of a module that pytest collects."""
    for name, value in vars(module).items():
        if name.startswith("test") and isinstance(value, FunctionType):
            yield value


@functools.cache
def bodies() -> tuple[tuple[str, FunctionType], ...]:
    """Case id and body of every declared body, in the order of the files."""
    return tuple(
        (id, function)
        for module in modules()
        for function in collected_from(module)
        if (id := case_id_of(function)) is not None
    )


def imports_of(path: Path) -> set[str]:
    """Full names of what a file imports: ``a.b`` for ``import a.b``, ``a.b.c`` for ``from``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found
