"""The command ``dra-cel``."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.commands.cel import run

GPU = 'device.attributes["gpu.example.com"]'


def resource_slice(*devices: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    pool = {"name": "node", "generation": generation, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "gpu.example.com", "pool": pool, "devices": list(devices)},
    }


def gpu(name: str, model: str) -> dict[str, Any]:
    return {"name": name, "attributes": {"model": {"string": model}}}


def listed(*slices: dict[str, Any]) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": list(slices)})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "slices.yaml"


def test_a_table_shows_result_and_reason(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(listed(resource_slice(gpu("gpu-0", "A100"), gpu("gpu-1", "H100"))))
    code = run(["eval", f'device.driver != "x" && {GPU}.model == "A100"', "--slices", str(file)])
    assert code == 0
    assert [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()] == [
        ["DEVICE", "RESULT", "DECIDED BY"],
        ["gpu.example.com/node/gpu-0", "true", f'device.driver != "x" && {GPU}.model == "A100"'],
        ["gpu.example.com/node/gpu-1", "false", f'{GPU}.model == "A100"'],
    ]


def test_no_match_is_told_by_the_exit_code(file: Path) -> None:
    file.write_text(json.dumps(resource_slice(gpu("gpu-0", "A100"))))
    assert run(["eval", "false", "--slices", str(file)]) == 1
    file.write_text(listed())
    assert run(["eval", "true", "--slices", str(file)]) == 1


def test_an_error_on_one_device_counts(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(listed(resource_slice(gpu("gpu-0", "A100"), {"name": "gpu-1"})))
    assert run(["eval", f'{GPU}.model == "A100"', "--slices", str(file)]) == 2
    shown = capsys.readouterr().out
    assert "gpu.example.com/node/gpu-1: 1:37: no such key: model" in shown
    assert "optional chaining" in shown


def test_the_standard_input_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = listed(resource_slice(gpu("gpu-0", "A100"))).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run(["eval", "true", "--slices", "-"]) == 0
    assert "gpu-0" in capsys.readouterr().out


def test_devices_of_v1beta1_are_read(file: Path) -> None:
    body = gpu("gpu-0", "A100")
    old = {"name": body.pop("name"), "basic": body}
    file.write_text(listed(resource_slice(old) | {"apiVersion": "resource.k8s.io/v1beta1"}))
    assert run(["eval", f'{GPU}.model == "A100"', "--slices", str(file)]) == 0


def test_older_generations_of_a_pool_are_left_out(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new, old = resource_slice(gpu("b", "A"), generation=2), resource_slice(gpu("a", "A"))
    file.write_text(listed(old, new))
    assert run(["eval", "true", "--slices", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "node/b" in shown
    assert "node/a" not in shown
    assert "1 slices of older pool generations are left out" in shown


@pytest.mark.parametrize(
    "text",
    ["[", "1", "kind: Pod", '{"kind": "ResourceSlice"}', "- 1", "\x00", '{"items": [1]}',
     "{kind: ResourceSlice, spec: {pool: {generation: x}}}",
     "{kind: ResourceSlice, spec: {pool: {}, devices: [1]}}",
     "{kind: ResourceSlice, spec: {pool: {}, devices: x}}", "[" * 5000],
)  # fmt: skip
def test_other_input_is_refused(file: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    file.write_text(text)
    assert run(["eval", "true", "--slices", str(file)]) == 2
    assert capsys.readouterr().err.startswith("dra-cel: ")


def test_a_file_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "true", "--slices", "/nope"]) == 2
    assert capsys.readouterr().err == "dra-cel: /nope: No such file or directory\n"


def test_check_shows_type_and_cost_by_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", 'device.driver == "x"']) == 0
    assert capsys.readouterr().out.startswith("1.34, 1.35, 1.36, 1.37: bool, cost at most ")


def test_check_tells_the_versions_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--stored", 'device.attributes["d"].a.includes("x")']) == 2
    first, _, last = capsys.readouterr().out.partition("\n1.36: ")
    assert first.startswith("1.34, 1.35: does not compile")
    assert last.startswith("bool, cost")


def test_check_refuses_what_a_server_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    loops = "device.attributes.all(x, " * 4 + "true" + ")" * 4
    assert run(["check", "--kubernetes", "1.37", loops]) == 2
    assert "too costly" in capsys.readouterr().out
    assert run(["check", "--kubernetes", "1.37", "true" + " " * 10240]) == 2
    assert "too long" in capsys.readouterr().out


def test_a_gate_changes_what_is_accepted() -> None:
    text = 'device.attributes["d"].a.includes("x")'
    arguments = ["check", "--kubernetes", "1.37", text]
    assert run(arguments) == 2
    assert run([*arguments, "--feature-gates", "DRAListTypeAttributes=true"]) == 0
    assert run([*arguments, "--feature-gates", "Nope=true"]) == 2


def test_check_of_a_derived_attribute(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--derived", "--kubernetes", "1.37", "device.driver"]) == 0
    assert capsys.readouterr().out.startswith("1.37: string, cost")


def test_an_unknown_version_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--kubernetes", "1.20", "true"]) == 2
    assert "want one of" in capsys.readouterr().err


def test_another_engine_gives_its_opinion_and_its_gaps(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("celpy")
    file.write_text(listed(resource_slice(gpu("gpu-0", "A100"), {"name": "gpu-1"})))
    text = f'"model" in {GPU} && {GPU}.model == "A100"'
    assert run(["eval", text, "--slices", str(file), "--engine", "cel-python"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split() == ["gpu.example.com/node/gpu-0", "true"]
    assert "cel-python is not Kubernetes: no cost, neither estimated nor counted" in shown
    monkeypatch.setenv("PYTEST_DRA_CEL_ENGINE", "cel-python")
    assert run(["eval", f"{GPU}.model", "--slices", str(file)]) == 2
    assert "cel-python: " in capsys.readouterr().out


def test_an_engine_that_is_not_there_is_refused(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(listed())
    assert run(["eval", "true", "--slices", str(file), "--engine", "fast"]) == 2
    assert capsys.readouterr().err == (
        "dra-cel: --engine: got 'fast', want one of own, cel-python\n"
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert run(["eval", "true", "--slices", str(file), "--engine", "cel-python"]) == 2
    assert "pip install 'pytest-dra[cel]'" in capsys.readouterr().err
