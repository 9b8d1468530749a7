"""The command ``dra-check``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.commands.check import run
from tests.objects.sample import DRIVER
from tests.objects.sample import device
from tests.objects.sample import device_class
from tests.objects.sample import resource_slice
from tests.objects.sample import text_of

GOOD = text_of(resource_slice())
BAD = text_of(resource_slice(devices=[device("GPU")]))
WARNED = text_of(resource_slice(driver="gpu"))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("objects.yaml")


def test_the_exit_code_tells_errors_from_warnings_and_unusable_input(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for data, plain, strict in ((GOOD, 0, 0), (WARNED, 0, 1), (BAD, 1, 1), (b"a: [", 2, 2)):
        file.write_bytes(data)
        assert run([str(file)]) == plain
        assert run([str(file), "--strict"]) == strict
    assert "dra-check: objects.yaml:1: no YAML" in capsys.readouterr().err


def test_people_get_file_line_object_and_rule(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(BAD)
    run([str(file)])
    first, last = capsys.readouterr().out.splitlines()
    line = BAD.decode().splitlines().index("  - name: GPU") + 1
    assert first.startswith(
        f"objects.yaml:{line}: error: ResourceSlice node-a-gpu: spec.devices[0]"
    )
    assert first.endswith("[SLICE-008]")
    assert last == "1 object of resource.k8s.io, Kubernetes 1.37: 1 errors, 0 warnings, 0 notes"


def test_several_versions_are_named_where_they_differ(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taint = {"key": f"{DRIVER}/a", "effect": "?"}
    file.write_bytes(text_of(resource_slice(devices=[device("a", taints=[taint])])))
    assert run([str(file), "--kubernetes", "all"]) == 1
    out = capsys.readouterr().out
    assert "[dropped] (Kubernetes 1.34, 1.35)" in out
    assert "[TAINT-001] (Kubernetes 1.36, 1.37)" in out
    assert run([str(file), "--kubernetes=1.34"]) == 0
    assert run([str(file), "--kubernetes=1.34", "--feature-gates=DRADeviceTaints=true"]) == 1


def test_standard_input_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD)))
    assert run(["-"]) == 1
    assert capsys.readouterr().out.startswith("<stdin>:")


def test_several_files_are_one_set_of_objects(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(GOOD)
    other = file.with_name("other.yaml")
    other.write_bytes(text_of(device_class("any", "true")))
    assert run([str(file), str(other)]) == 1
    assert "other.yaml:6: error: DeviceClass any:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.yaml"], "none.yaml: No such file"),
        (["node.yaml"], "no object of resource.k8s.io in node.yaml; there are Node"),
        (["node.yaml", "--kubernetes=1.2"], "Kubernetes version '1.2'"),
        (["node.yaml", "--kubernetes="], "names no version"),
        (["node.yaml", "--feature-gates=DRAFoo=true"], "no version has DRAFoo"),
        (["node.yaml", "--feature-gates=DRAFoo"], "want GATE=true or GATE=false"),
        (["node.yaml", "--profile=none"], "none"),
    ],
)
def test_what_cannot_be_used_is_told(
    file: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    file.with_name("node.yaml").write_text(yaml.safe_dump(node))
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert not told.out


def test_json_has_all_of_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(BAD)
    run([str(file), "--output=json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["objects"], found["kubernetes"]) == (1, ["1.37"])
    (one,) = found["findings"]
    assert one["rule"] == "SLICE-008"
    assert one["severity"] == "error"
    assert one["title"] == "device and pool names are well formed"


TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name", "rules"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "shortDescription": TEXT,
                                                "fullDescription": TEXT,
                                                "help": TEXT,
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "required": ["message", "ruleId"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": TEXT,
                                "properties": {"type": "object"},
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "additionalProperties": False,
                                        "properties": {
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {
                                                        "properties": {
                                                            "uri": {
                                                                "type": "string",
                                                                "pattern": r"^[^\s<>\\]+$",
                                                            }
                                                        }
                                                    },
                                                    "region": {
                                                        "properties": {
                                                            "startLine": {
                                                                "type": "integer",
                                                                "minimum": 1,
                                                            }
                                                        }
                                                    },
                                                },
                                            },
                                            "logicalLocations": {"type": "array"},
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The part of the schema of SARIF 2.1.0 that our documents use."""


def test_sarif_has_the_form_that_review_tools_read(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import jsonschema

    named = file.with_name("a b <c>.yaml")
    for place in (file, named):
        place.write_bytes(text_of(resource_slice(devices=[device("GPU"), device("a", taints=3)])))
    assert run([str(file), str(named.absolute()), "--output=sarif"]) == 1
    found = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(SARIF).validate(found)
    (one,) = found["runs"]
    rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
    for result in one["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    place = one["results"][-1]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "objects.yaml"
    file.write_bytes(GOOD)
    assert run([str(file), "--output=sarif"]) == 0
    jsonschema.Draft202012Validator(SARIF).validate(json.loads(capsys.readouterr().out))


def test_no_text_of_an_object_moves_the_terminal(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(json.dumps(resource_slice(devices=[device("\x1b[31m\nx" * 500)])))
    assert run([str(file)]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) < 2_000
