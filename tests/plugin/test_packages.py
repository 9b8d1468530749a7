"""The wheel has every package: a missing one is found here, and not by who has installed it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_package_is_listed() -> None:
    tomllib = pytest.importorskip("tomllib", reason="it is there from Python 3.11 on")
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    folders = {path.parent for path in (ROOT / "pytest_dra").glob("**/__init__.py")}
    found = {".".join(each.relative_to(ROOT).parts) for each in folders}
    assert found - set(listed["packages"]) == set()
