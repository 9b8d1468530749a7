"""Kind clusters, containers and networks of ended runs go; what lives, or is not ours, stays."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_dra.cleaning import clean
from pytest_dra.clusters.kindrecords import KindRecords
from pytest_dra.clusters.owner import Owner
from pytest_dra.options import resolve
from tests.clusters.stubs import Stub

GONE = dataclasses.replace(Owner.here(), start="1")

KIND = """
if words == ["get", "clusters"]:
    print("pytest-dra-alive\\npytest-dra-gone\\npytest-dra-kept\\ntheirs")
"""

DOCKER = """
def told(kind, name, owner):
    print(json.dumps({{kind: name, "Labels": "a=b,pytest-dra.dev/owner=" + owner}}))
if words[0] == "ps":
    told("Names", "old", {gone!r}); told("Names", "new", {here!r}); told("Names", "odd", "x")
elif words[:2] == ["network", "ls"]:
    told("Name", "old-net", {gone!r})
"""


@pytest.fixture
def kind(tmp_path: Path) -> Stub:
    return Stub(tmp_path, "kind", KIND)


@pytest.fixture
def docker(tmp_path: Path) -> Stub:
    return Stub(tmp_path, "docker", DOCKER.format(gone=GONE.label(), here=Owner.here().label()))


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KindRecords:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = KindRecords()
    for name in ("pytest-dra-alive", "pytest-dra-gone", "pytest-dra-away"):
        found.note(name)
    for name in ("pytest-dra-gone", "pytest-dra-away"):
        file = tmp_path / "state" / "pytest-dra" / "kind" / name
        file.write_text(GONE.written(), "utf-8")
    return found


def cleaned(kind: Stub, docker: Stub) -> int:
    options = {"dra_kind": kind.program, "dra_engine": docker.program}
    return clean(resolve(flag=options.get, ini=lambda _: None, environ={}))


def test_only_what_ended_runs_have_made_is_removed(
    kind: Stub, docker: Stub, records: KindRecords, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cleaned(kind, docker) == 0
    deleted = [call[3] for call in kind.calls() if call[:2] == ["delete", "cluster"]]
    assert deleted == ["pytest-dra-gone"]
    assert ["rm", "--force", "--volumes", "old"] in docker.calls()
    assert ["network", "rm", "old-net"] in docker.calls()
    assert records.known() == ["pytest-dra-alive"]
    said = capsys.readouterr().out
    assert "removed: kind cluster pytest-dra-gone" in said
    assert "left alone: kind cluster pytest-dra-alive: process" in said
    assert "left alone: kind cluster pytest-dra-kept: nothing says" in said
    assert "left alone: container new" in said
    assert "theirs" not in said


def test_what_cannot_be_removed_is_told_and_fails(
    tmp_path: Path, docker: Stub, records: KindRecords, capsys: pytest.CaptureFixture[str]
) -> None:
    del records
    stub = Stub(tmp_path, "kind", f"{KIND}\nsys.exit(words[0] == 'delete')")
    assert cleaned(stub, docker) == 1
    said = capsys.readouterr().out
    assert "could not be removed: kind cluster pytest-dra-gone" in said
    assert "1 left" in said
