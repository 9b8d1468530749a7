"""The replay of request scripts: the language, the normal form, and counting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pytest_dra.spec import Json
from tests.upstream.apiserver import main
from tests.upstream.apiserver import play
from tests.upstream.apiserver_script import edit
from tests.upstream.apiserver_script import evaluate
from tests.upstream.apiserver_script import look
from tests.upstream.apiserver_script import steps

SCRIPT = """
vars: {ns: tst}
defs:
  slice:
    apiVersion: resource.k8s.io/v1
    kind: ResourceSlice
    metadata: {name: s}
    spec: {driver: a.example.com, nodeName: n, pool: {name: p, resourceSliceCount: 1}}
steps:
- {id: watch, watch: W, path: slices}
- {id: make, POST: slices, body: {$def: slice}, save: {rv: metadata.resourceVersion}}
- {id: seen, collect: W, until: {count: 1}}
- {close: W}
- {id: generated, POST: slices, body: {$def: slice, set: {metadata: {generateName: x-}}}}
- {id: list, GET: slices, query: {resourceVersion: "${rv}"}, pick: [metadata.resourceVersion]}
- {id: refused, GET: slices, as: user}
- table: bad
  POST: slices
  query: {dryRun: All}
  body: slice
  cases:
    driver: {spec.driver: ""}
    pool: {spec.pool: {$unset: true}}
- {id: hidden, DELETE: slices/s, silent: true}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A script and its recording, made by our own server."""
    (tmp_path / "one.yaml").write_text(SCRIPT)
    recorded = tmp_path / "recorded" / "1.37"
    recorded.mkdir(parents=True)
    lines = play("1.37", yaml.safe_load(SCRIPT))
    (recorded / "one.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    return tmp_path


def _run(folder: Path) -> int:
    arguments = ["one", "--scripts", str(folder), "--recorded", str(folder / "recorded")]
    return main([*arguments, "--profile", "1.37"])


def _recorded(folder: Path) -> list[Json]:
    text = (folder / "recorded" / "1.37" / "one.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_second_run_agrees_with_the_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(folder) == 0
    assert capsys.readouterr().out.endswith("8 agree, 0 differ\n")


def test_what_differs_from_run_to_run_is_normalised(folder: Path) -> None:
    lines = {line["id"]: line for line in _recorded(folder)}
    made = lines["make"]["body"]["metadata"]
    assert (made["uid"], made["resourceVersion"], made["creationTimestamp"]) == ("U1", "R1", "T")
    assert lines["generated"]["body"]["metadata"]["name"] == "x-S1"
    assert lines["list"]["body"] == {"metadata.resourceVersion": "R2"}
    assert lines["seen"]["events"][0]["type"] == "ADDED"
    assert lines["refused"]["code"] == 403
    assert lines["bad/driver"]["code"] == 422
    assert "hidden" not in lines


def test_differences_and_missing_steps_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = _recorded(folder)
    lines[0]["code"] = 500
    lines.append({**lines[1], "id": "more"})
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / "recorded" / "1.37" / "one.jsonl").write_text(text)
    assert _run(folder) == 1
    out = capsys.readouterr().out
    assert "1.37 one watch\n    .code: want 500, got 200\n" in out
    assert "1.37 one more: recorded, but not played" in out
    assert out.endswith("7 agree, 2 differ\n")


def test_edits_make_what_is_missing_and_remove() -> None:
    value: Json = {"a": {"b.c": 1}}
    edit(value, "d[1].e", 2)
    edit(value, "a.b\\.c", {"$unset": True})
    assert value == {"a": {}, "d": [None, {"e": 2}]} or value == {"a": {}, "d": [{}, {"e": 2}]}
    assert look(value, "d[1].e") == 2
    assert look(value, "d[7].e") is None


def test_forms_generate_values() -> None:
    known = {"n": 41, "name": "x"}
    form = {"a": {"$repeat": ["ab", 2]}, "b": {"$join": ["${name}", {"$repeat": ["y", 2]}]}}
    assert evaluate(form, known, {}) == {"a": "abab", "b": "xyy"}
    assert evaluate({"$list": [2, {"i": "${i}"}]}, known, {}) == [{"i": 0}, {"i": 1}]
    assert evaluate({"$map": [2, "k${i}", "v"]}, known, {}) == {"k0": "v", "k1": "v"}
    assert evaluate("${n+1} ${missing}", known, {}) == "42 ${missing}"


def test_a_table_is_one_request_with_many_edits() -> None:
    table = {"table": "t", "POST": "slices", "body": "d", "cases": {"a": None, "b": {"x": 1}}}
    found = list(steps({"steps": [table]}))
    assert [step["id"] for step in found] == ["t/a", "t/b"]
    assert found[1]["body"] == {"$def": "d", "set": {"x": 1}}
