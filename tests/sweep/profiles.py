"""Profiles of the bundled driver that differ from its own in some fields."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

BUNDLED = Path(__file__).parents[2] / "fake_driver" / "dra-profile.yaml"


def profile_with(*changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The bundled profile with other fields in some blocks; None leaves a field out.

    The paths of manifests are absolute.
    """
    made: dict[str, Any] = yaml.safe_load(BUNDLED.read_text("utf-8"))
    made["manifests"] = [str(BUNDLED.parent / each) for each in made["manifests"]]
    for blocks in changes:
        for name, block in blocks.items():
            merged = {**made.get(name, {}), **block}
            made[name] = {key: value for key, value in merged.items() if value is not None}
    return made
