"""Our CDI reader against recorded answers of the Go library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_dra.spec import Json
from tests.upstream.cdi import compare
from tests.upstream.cdi import main

SAMPLE = Path(__file__).with_name("cdi-sample.jsonl")
LINES = [json.loads(line) for line in SAMPLE.read_text().splitlines()]


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line["id"]))
def test_the_reader_answers_like_both_libraries(line: Json) -> None:
    assert list(compare(line)) == []


def test_a_wrong_answer_is_counted_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = LINES[0] | {"want": {"names": []}}
    line.pop("newest", None)
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(line) + "\n")

    assert main([str(file)]) == 1
    assert capsys.readouterr().out.endswith("0 agree, 2 differ\n")
