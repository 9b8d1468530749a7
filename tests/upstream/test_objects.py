"""The comparison of static judgements with recorded answers: what counts as agreement."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from pytest_dra.spec import Json
from tests.upstream import objects

SCRIPT = """
defs:
  slice:
    apiVersion: resource.k8s.io/v1
    kind: ResourceSlice
    metadata: {name: s}
    spec: {driver: a.example.com, nodeName: n, pool: {name: p, resourceSliceCount: 1}}
steps:
- {id: right, POST: slices, body: {$def: slice}}
- {id: wrong, POST: slices, body: {$def: slice, set: {spec.pool.name: A}}}
- {id: shapeless, POST: slices, body: {$def: slice, set: {spec.pool: 3}}}
- {id: conflict, POST: slices, body: {$def: slice}}
"""


def answer(id_: str, code: int, *fields: str) -> Json:
    causes = [{"field": field, "reason": "FieldValueInvalid"} for field in fields]
    return {"id": id_, "code": code, "body": {"details": {"causes": causes}}}


@pytest.mark.parametrize(
    ("field", "said", "code"),
    [("spec.pool.name", "3 agree, 0 differ", 0), ("spec", "2 agree, 1 differ", 1)],
)
def test_fields_and_reasons_have_to_agree(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    field: str,
    said: str,
    code: int,
) -> None:
    (tmp_path / "one.yaml").write_text(SCRIPT)
    (tmp_path / "1.37").mkdir()
    golden = [
        answer("right", 201),
        answer("wrong", 422, field),
        answer("shapeless", 400),
        answer("conflict", 409),
    ]
    (tmp_path / "1.37" / "one.jsonl").write_text("\n".join(map(json.dumps, golden)))
    monkeypatch.setattr(objects, "SCRIPTS", ("one",))
    place = str(tmp_path)
    monkeypatch.setattr(sys, "argv", ["x", "--recordings", place, "--scripts", place])
    assert objects.main() == code
    assert capsys.readouterr().out.splitlines()[-1] == said


def test_all_creations_of_a_script_are_found() -> None:
    found = [id_ for id_, _ in objects.created(yaml.safe_load(SCRIPT))]
    assert found == ["right", "wrong", "shapeless", "conflict"]
