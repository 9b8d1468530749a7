"""A drafted profile names every field, and is one."""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import load_profile
from pytest_dra.profile.draft import Finding
from pytest_dra.profile.draft import drafted
from pytest_dra.profile.fields import BLOCKS
from pytest_dra.profile.fields import FIELDS
from pytest_dra.profile.fields import Field

SCHEMA: dict[str, Any] = json.loads(
    importlib.resources.files("pytest_dra.profile").joinpath("schema.json").read_text("utf-8")
)
HEAD = "apiVersion: pytest-dra.dev/v1alpha1\nkind: DriverProfile\n"


def keys(schema: Any) -> Iterator[str]:
    """Every name of a property in the schema, definitions included."""
    if isinstance(schema, dict):
        for name, below in schema.get("properties", {}).items():
            yield name
            yield from keys(below)
        for name, below in schema.items():
            if name != "properties":
                yield from keys(below)
    if isinstance(schema, list):
        for below in schema:
            yield from keys(below)


def loaded(folder: Path, text: str) -> Any:
    file = folder / "dra-profile.yaml"
    file.write_text(text, "utf-8")
    return load_profile(file)


def test_every_key_of_the_schema_is_named() -> None:
    text = drafted("a head", {})
    missing = {key for key in keys(SCHEMA) if not re.search(rf"\b{key}:", text)}
    assert missing == set()


def test_the_fields_are_those_of_the_schema_in_its_order() -> None:
    found = []
    for block, schema in SCHEMA["properties"].items():
        below = schema.get("properties")
        if block not in ("apiVersion", "kind", "features"):
            found += [f"{block}.{key}" for key in below] if below else [block]
    assert [field.path for field in FIELDS] == found
    assert set(BLOCKS) == set(SCHEMA["properties"]) - {"apiVersion", "kind"}


def test_every_feature_is_named() -> None:
    text = drafted("a head", {})
    for name, feature in catalogue().features.items():
        assert f"{name}: {{ supported: {str(feature.default).lower()} }}" in text


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.path)
def test_each_example_is_accepted(tmp_path: Path, field: Field) -> None:
    key = f"\n  {field.key}:" if field.key else ""
    text = f"{field.block}:{key} {field.example}"
    loaded(tmp_path, f"{HEAD}{text}\n")


def test_a_draft_of_nothing_is_an_empty_profile(tmp_path: Path) -> None:
    profile = loaded(tmp_path, drafted("nothing known", {}))
    assert profile.data == {"apiVersion": "pytest-dra.dev/v1alpha1", "kind": "DriverProfile"}


def test_a_block_that_is_commented_out_can_be_uncommented(tmp_path: Path) -> None:
    text = drafted("nothing known", {})
    lines = text.splitlines()
    begin = lines.index("# budgets:")
    plain = [line.removeprefix("# ") for line in lines[begin:]]
    profile = loaded(tmp_path, "\n".join([*lines[:begin], *plain]) + "\n")
    assert profile.budgets.start == 30
    assert set(profile.data["budgets"]) == set(SCHEMA["properties"]["budgets"]["properties"])


def test_findings_are_written_with_their_origin(tmp_path: Path) -> None:
    text = drafted(
        "x",
        {
            "driver.name": Finding("Registered so.", "gpu.example.com"),
            "driver.scope": Finding("Not seen."),
            "features.DeviceTaints": Finding("Seen: taints.", {"supported": True}),
        },
    )
    profile = loaded(tmp_path, text)
    assert profile.driver.name == "gpu.example.com"
    assert profile.declares("DeviceTaints")
    assert "must register under. Registered so.\n  name: gpu.example.com\n" in text
    assert "Not seen.\n  # scope: node\n" in text


HOSTILE = "a\nb: c # d \u2028 \x1b[31m \U0001f600 'e' \"f\""


def test_what_a_driver_says_cannot_leave_its_place(tmp_path: Path) -> None:
    text = drafted(
        HOSTILE,
        {
            "driver.kind_attribute": Finding(HOSTILE, HOSTILE),
            "injection.absent_paths": Finding(HOSTILE * 9, [HOSTILE, "yes", "1", "null", "/x"]),
        },
    )
    assert "\x1b" not in text
    assert "\u2028" not in "".join(line for line in text.splitlines() if line.startswith(" "))
    profile = loaded(tmp_path, text)
    assert profile.driver.kind_attribute == HOSTILE
    assert profile.injection.absent_paths == (HOSTILE, "yes", "1", "null", "/x")
