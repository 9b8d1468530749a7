"""The two CDI directories of a node, and what a Prepare call shows in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.bench import preparation
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.preparation import host_of
from pytest_dra.bench.preparation import modes_of
from pytest_dra.bench.specs import Specs
from pytest_dra.checks.edits import FileKind
from pytest_dra.checks.edits import HostPath
from pytest_dra.launch import NodeDirectories
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.wire.answers import NodeReply
from tests.checks.answers import answered
from tests.checks.answers import device

KIND = "vendor.test/gpu"
CLAIM = Claim(namespace="ns", name="c", uid="uid-a", requests=("r0",))


def spec(name: str, *, edits: Json) -> str:
    """A spec with one device."""
    devices = [{"name": name, "containerEdits": edits}]
    return json.dumps({"cdiVersion": "0.5.0", "kind": KIND, "devices": devices})


class Node:
    """The directories of a node and what looks after them."""

    def __init__(self, root: Path) -> None:
        self.directories = NodeDirectories(root)
        for directory in (self.directories.cdi_dir, self.directories.static_cdi_dir):
            directory.mkdir(mode=0o755)
        self.timeline = Timeline()
        self.specs = Specs(self.directories, library="1.1.0", timeline=self.timeline, instance="a")

    def answer(self, *ids: str) -> NodeReply:
        """An answer to Prepare with these ids, on the timeline."""
        serial = self.timeline.add(Mark(text="answer")).serial
        return answered(device(ids=ids), uid=CLAIM.uid, serial=serial)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    made.specs.start()
    yield made
    made.specs.stop()


def test_both_directories_are_read_and_the_run_time_one_wins(node: Node) -> None:
    for directory, value in (
        (node.directories.static_cdi_dir, "A=static"),
        (node.directories.cdi_dir, "A=run"),
    ):
        (directory / "x.json").write_text(spec("d0", edits={"env": [value]}))
    registry = node.specs.registry()
    assert len(registry.files) == 2
    assert registry.resolve([f"{KIND}=d0"]).edits == {"env": ["A=run"]}


def test_a_preparation_holds_what_the_call_made(node: Node) -> None:
    began = len(node.timeline)
    path = node.directories.cdi_dir / "x.json"
    nodes = [{"path": "/dev/x", "hostPath": "/dev/null"}, {"path": "/dev/no/such"}]
    path.write_text(spec("d0", edits={"deviceNodes": nodes}))
    path.chmod(0o664)
    found = node.specs.prepared([CLAIM], node.answer(f"{KIND}=d0", f"{KIND}=d1"), began=began)
    assert list(found.edits()) == []
    found = node.specs.prepared([CLAIM], node.answer(f"{KIND}=d0"), began=began)
    assert [(claim.uid, ids) for claim, ids in found.ids()] == [("uid-a", [f"{KIND}=d0"])]
    assert [edits["deviceNodes"] for _, edits in found.edits()] == [nodes]
    assert found.files() == [path]
    assert found.modes[path] == 0o664
    assert found.modes[node.directories.cdi_dir] == 0o755
    assert found.host["/dev/null"].itself is FileKind.CHARACTER
    assert found.host["/dev/no/such"].itself is FileKind.MISSING
    events = node.specs.events(since=began, until=found.ended)
    assert [entry.event.action for entry in events] == ["created", "modified", "written"]
    assert node.specs.events(since=found.ended) == []


def test_only_the_own_events_are_given(node: Node, tmp_path: Path) -> None:
    other = Specs(node.directories, library="1.1.0", timeline=node.timeline, instance="b")
    other.start()
    (node.directories.cdi_dir / "x.json").touch()
    other.events()
    other.stop()
    assert {entry.event.instance for entry in node.specs.events()} == {"a"}


def test_a_record_with_gaps_is_not_judged(node: Node) -> None:
    node.specs._watch._lose("a reason")
    with pytest.raises(UnsupportedEnvironment, match="could not be watched: a reason"):
        node.specs.events()


def test_a_path_is_seen_as_it_is_and_behind_its_links(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "fifo")
    mounts = [
        {"hostPath": f"/outer/{name}", "containerPath": "/x"}
        for name in ("file", "link", "dangling", "fifo", "", "nothing", "a\0b")
    ]
    found = host_of([{"mounts": mounts}], lambda path: tmp_path / path.removeprefix("/outer/"))
    assert found == {
        "/outer/file": HostPath(FileKind.FILE, FileKind.FILE),
        "/outer/link": HostPath(FileKind.LINK, FileKind.FILE),
        "/outer/dangling": HostPath(FileKind.LINK, FileKind.MISSING),
        "/outer/fifo": HostPath(FileKind.OTHER, FileKind.OTHER),
        "/outer/": HostPath(FileKind.DIRECTORY, FileKind.DIRECTORY),
        "/outer/nothing": HostPath(FileKind.MISSING, FileKind.MISSING),
        "/outer/a\0b": HostPath(FileKind.MISSING, FileKind.MISSING),
    }


def test_no_more_paths_are_looked_at_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "HOST_PATHS", 3)
    hooks = [{"hookName": "prestart", "path": f"/no/{number}"} for number in range(9)]
    assert list(host_of([{"hooks": hooks}])) == ["/no/0", "/no/1", "/no/2"]


def test_a_file_that_has_gone_meanwhile_has_no_mode(node: Node) -> None:
    (node.directories.cdi_dir / "x.json").write_text("{}")
    registry = node.specs.registry()
    (node.directories.cdi_dir / "x.json").unlink()
    assert set(modes_of(registry)) == set(registry.directories)
