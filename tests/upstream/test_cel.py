"""Our CEL engine against stored answers of Kubernetes' Go package."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.cel.environments import MINORS
from tests.upstream import cel
from tests.upstream import celfuzz
from tests.upstream import celrecord

HERE = Path(__file__).parent
SAMPLES = (HERE / "cel-sample.jsonl", HERE / "cel-unusual.jsonl")
KNOWN = HERE / "cel-known.jsonl"


def by_area() -> dict[str, list[dict[str, Any]]]:
    areas: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for sample in SAMPLES:
        for question in cel.questions(sample):
            areas[question["area"]].append(question)
    return areas


AREAS = by_area()


@pytest.mark.parametrize("area", sorted(AREAS))
def test_the_engine_answers_like_the_go_package(area: str) -> None:
    found = [
        f"1.{minor} {question['expression']!r}: {text}"
        for question in AREAS[area]
        for minor, want in cel.asked(question, MINORS)
        for text in cel.difference(question, want, cel.answer(question, minor))
    ]
    assert found == []


def test_the_sample_speaks_for_every_release() -> None:
    minors = {
        minor for rows in AREAS.values() for row in rows for minor, _ in cel.asked(row, MINORS)
    }
    assert minors == set(MINORS)


def test_what_is_known_to_differ_is_refused_all_the_same_and_has_its_reason() -> None:
    for question in cel.questions(KNOWN):
        assert question["reason"]
        for minor, want in cel.asked(question, MINORS):
            assert cel.answer(question, minor)["compile"] == want["compile"]


def test_a_wrong_answer_is_counted_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = {"id": "x", "expression": "1 + 1 == 2", "kind": "selector", "device": {}}
    right = cel.answer(question, 37)
    rows = [question | {"want": right}, question | {"id": "y", "want": right | {"result": False}}]
    file = tmp_path / "two.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cel.compare(file, (37,)) == {37: [1, 1]}
    assert "y 1.37 '1 + 1 == 2': result: want False, got True" in capsys.readouterr().out


@pytest.mark.parametrize("how", celfuzz.DRAWN)
def test_drawn_questions_are_repeatable_and_answered(how: str) -> None:
    drawn = celfuzz.drawn(how, MINORS[-1], 7, 40)
    assert drawn == celfuzz.drawn(how, MINORS[-1], 7, 40)
    assert len({question["expression"] for question in drawn}) > 20
    for question in drawn:
        assert cel.answer(question, MINORS[-1])["compile"] in ("ok", "error")


def test_rows_are_recorded_with_what_older_releases_answer(tmp_path: Path) -> None:
    for minor, known in ((37, "true"), (36, "false")):
        oracle = tmp_path / f"oracle{minor}"
        answer = json.dumps({"compile": "ok", "result": {"bool": known == "true"}})
        oracle.write_text(f"#!/bin/sh\nwhile read -r line; do echo '{answer}'; done\n")
        oracle.chmod(0o700)
    asked = celrecord.questions(["# areas", "1 == 1", '{"expression": "x", "kind": "selector"}'])
    oracles = {minor: str(tmp_path / f"oracle{minor}") for minor in (36, 37)}
    first, second = celrecord.rows(asked, oracles)
    assert (first["id"], first["area"], first["kind"]) == ("areas-0000", "areas", "value")
    assert first["want"]["result"] == {"bool": True}
    assert first["older"]["0.36"]["result"] == {"bool": False}
    assert second["kind"] == "selector"
