"""Spec files to load."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_dra.spec import Json

Write = Callable[..., Path]


def spec(**changes: object) -> Json:
    """A small valid spec of kind acme.test/gadget with the device d0."""
    found: Json = {
        "cdiVersion": "0.5.0",
        "kind": "acme.test/gadget",
        "devices": [{"name": "d0", "containerEdits": {"env": ["A=1"]}}],
    }
    return found | changes


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write one spec below a directory of the test; returns the directory."""

    def write_one(
        content: Json | str | None = None, *, name: str = "x.json", at: str = "a"
    ) -> Path:
        directory = tmp_path / at
        directory.mkdir(exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content or spec())
        (directory / name).write_text(text)
        return directory

    return write_one
