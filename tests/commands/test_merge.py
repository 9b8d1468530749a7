"""``dra-report merge``: what it writes, says and exits with."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_dra.commands.report import run
from pytest_dra.report.results import State
from pytest_dra.report.shards import config_map
from tests.report.sharded import BAD
from tests.report.sharded import GOOD
from tests.report.sharded import OTHER_MUST_ID
from tests.report.sharded import text_of

ALL = (
    "badge.json",
    "badge.svg",
    "findings.sarif",
    "junit.xml",
    "report.html",
    "report.yaml",
    "summary.md",
)


def put(folder: Path, node: str, states: dict[str, State] = GOOD) -> str:
    file = folder / f"{node}-report.yaml"
    file.write_text(text_of(node, states), "utf-8")
    return str(file)


def test_alike_nodes_exit_0_with_the_whole_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "merged"
    shards = [put(tmp_path, "a"), put(tmp_path, "b")]
    for _ in range(2):
        assert run(["merge", *shards, "-o", str(out)]) == 0
    assert sorted(each.name for each in out.iterdir()) == list(ALL)
    assert (out / "summary.md").read_text("utf-8").count("### Nodes") == 1
    assert "nodes: 2, differing: none\n" in capsys.readouterr().out
    assert run(["check", str(out)]) == 0
    assert run(["show", str(out)]) == 0
    assert "nodes: 2, differing: none\n" in capsys.readouterr().out


def test_a_node_that_differs_is_named_and_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = [put(tmp_path, "a"), put(tmp_path, "b", BAD)]
    assert run(["merge", *shards, "-o", str(tmp_path / "out")]) == 1
    assert "nodes: 2, differing: b\n  b: non-conformant; SHARE-001 failed there" in (
        capsys.readouterr().out
    )


def test_a_node_that_differs_exits_1_whatever_the_verdict(tmp_path: Path) -> None:
    less = {**GOOD, OTHER_MUST_ID: State.NOT_RUN}
    alike, odd = [put(tmp_path, "a", less), put(tmp_path, "b", less)], put(tmp_path, "c")
    out = ["-o", str(tmp_path / "out")]
    assert run(["merge", *alike, *out]) == 0
    assert run(["merge", *alike, *out, "--require=conformant"]) == 1
    assert run(["merge", *alike, odd, *out]) == 1


def test_a_node_without_a_report_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["merge", put(tmp_path, "a"), "--nodes=a,gone", "-o", str(tmp_path / "out")]
    assert run(arguments) == 1
    assert "without a report: gone" in capsys.readouterr().out


def test_config_maps_come_from_the_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = config_map("job-0", job="job", report=text_of("a").encode())
    text = json.dumps({"kind": "List", "items": [one]}).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    assert run(["merge", "-", "-o", str(tmp_path / "out")]) == 0
    assert "nodes: 1, differing: none\n" in capsys.readouterr().out


def test_what_cannot_be_merged_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["-o", str(tmp_path / "out")]
    assert run(["merge", str(tmp_path / "missing"), *out]) == 2
    (tmp_path / "list.json").write_text("[", "utf-8")
    assert run(["merge", str(tmp_path / "list.json"), *out]) == 2
    assert "no JSON of kubectl" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_place_that_is_no_directory_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    assert run(["merge", put(tmp_path, "a"), "-o", str(taken)]) == 2
    assert capsys.readouterr().err == f"dra-report: {taken}: cannot be written: File exists\n"
