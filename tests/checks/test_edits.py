"""Judgements of container edits against the host."""

from __future__ import annotations

import pytest

from pytest_dra.checks import edits
from pytest_dra.checks.edits import FileKind
from pytest_dra.checks.edits import HostPath
from pytest_dra.spec import Json
from tests.checks.raising import Said
from tests.checks.raising import said

RUNTIME = "a runtime"


def found(kind: FileKind, target: FileKind | None = None) -> HostPath:
    """A path of one kind, a link with its target."""
    return HostPath(kind, target or kind)


def node(**fields: object) -> Json:
    """Edits with one device node."""
    return {"deviceNodes": [{"path": "/dev/x", **fields}]}


def mount(*options: str, **fields: object) -> Json:
    """Edits with one mount."""
    return {
        "mounts": [{"hostPath": "/h", "containerPath": "/c", "options": list(options), **fields}]
    }


HOOK: Json = {"hooks": [{"hookName": "createContainer", "path": "/bin/hook"}]}


def test_the_paths_that_a_runtime_looks_up_are_named() -> None:
    every: Json = {
        "env": ["A=1"],
        **HOOK,
        "mounts": [
            {"hostPath": "/m", "containerPath": "/m"},
            {"hostPath": "tmpfs", "containerPath": "/t", "type": "tmpfs"},
        ],
        "deviceNodes": [
            {"path": "/dev/a"},
            {"path": "/dev/b", "hostPath": "/dev/c"},
            {"path": "/dev/d", "type": "c"},
            {"path": "/dev/e", "type": "c", "major": 1},
            {"path": "/dev/f", "type": "p"},
        ],
    }
    assert list(edits.host_paths(every)) == ["/dev/a", "/dev/c", "/dev/d", "/m", "/bin/hook"]
    assert list(edits.host_paths({})) == []


class TestPaths:
    @pytest.mark.parametrize(
        ("wanted", "host"),
        [
            pytest.param({}, {}, id="nothing"),
            pytest.param(node(), {"/dev/x": found(FileKind.CHARACTER)}, id="node"),
            pytest.param(node(hostPath="/y"), {"/y": found(FileKind.BLOCK)}, id="host path"),
            pytest.param(
                node(type="c", major=1), {"/dev/x": found(FileKind.MISSING)}, id="specified"
            ),
            pytest.param(node(type="p"), {"/dev/x": found(FileKind.MISSING)}, id="fifo"),
            pytest.param(mount("bind"), {"/h": found(FileKind.DIRECTORY)}, id="mount"),
            pytest.param(mount("bind"), {"/h": found(FileKind.LINK, FileKind.FILE)}, id="link"),
            pytest.param(mount(type="tmpfs"), {"/h": found(FileKind.MISSING)}, id="tmpfs"),
            pytest.param(HOOK, {"/bin/hook": found(FileKind.FILE)}, id="hook"),
            pytest.param({**HOOK, **node(), **mount("bind")}, {}, id="not looked at"),
        ],
    )
    def test_what_a_runtime_finds_is_let_pass(
        self, wanted: Json, host: dict[str, HostPath]
    ) -> None:
        assert said(lambda: edits.host_paths_must_exist(wanted, host, what="A")) is None

    @pytest.mark.parametrize(
        "kind", [FileKind.MISSING, FileKind.FILE, FileKind.LINK, FileKind.OTHER]
    )
    def test_a_node_that_is_none_is_told(self, kind: FileKind) -> None:
        host = {"/dev/x": found(kind, FileKind.CHARACTER)}
        judged = said(lambda: edits.host_paths_must_exist(node(), host, what="A", proof=[5]))
        assert judged == Said(
            "device node /dev/x in the edits of A",
            f"{kind.value} on the host",
            "a block or character device (links are not followed), or type and major in the edits",
            (5,),
        )

    @pytest.mark.parametrize(
        ("wanted", "where"),
        [
            pytest.param(mount("rbind"), "mount /h", id="mount"),
            pytest.param(HOOK, "hook /bin/hook", id="hook"),
        ],
    )
    def test_a_missing_source_or_hook_is_told(self, wanted: Json, where: str) -> None:
        path = where.partition(" ")[2]
        host = {path: found(FileKind.LINK, FileKind.MISSING)}
        judged = said(lambda: edits.host_paths_must_exist(wanted, host, what="A", proof=[5]))
        assert judged == Said(
            f"{where} in the edits of A",
            "nothing on the host",
            "a path that exists when Prepare is answered",
            (5,),
        )
        judged = said(lambda: edits.host_paths_must_exist(wanted, host, absent=[path], what="A"))
        assert judged is None

    def test_a_node_that_the_bench_cannot_have_is_let_pass(self) -> None:
        host = {"/dev/x": found(FileKind.MISSING)}
        judged = said(
            lambda: edits.host_paths_must_exist(node(), host, absent=["/dev/x"], what="A")
        )
        assert judged is None


class TestMounts:
    @pytest.mark.parametrize(
        ("wanted", "host"),
        [
            pytest.param(mount("ro", "bind"), {"/h": found(FileKind.FILE)}, id="bind"),
            pytest.param(mount("rbind"), {"/h": found(FileKind.DIRECTORY)}, id="rbind"),
            pytest.param(mount("ro"), {"/h": found(FileKind.MISSING)}, id="nothing there"),
            pytest.param(mount("ro"), {}, id="not looked at"),
            pytest.param(mount(type="tmpfs"), {"/h": found(FileKind.DIRECTORY)}, id="tmpfs"),
        ],
    )
    def test_what_starts_is_let_pass(self, wanted: Json, host: dict[str, HostPath]) -> None:
        judged = said(lambda: edits.mounts_must_be_binds(wanted, host, runtime=RUNTIME, what="A"))
        assert judged is None

    @pytest.mark.parametrize("type_", ["", "bind", "none"])
    def test_a_host_path_without_the_option_is_told(self, type_: str) -> None:
        host = {"/h": found(FileKind.LINK, FileKind.FILE)}
        wanted = mount("ro", type=type_)
        judged = said(
            lambda: edits.mounts_must_be_binds(wanted, host, runtime=RUNTIME, what="A", proof=[5])
        )
        assert judged == Said(
            "mount of /h in the edits of A",
            f"type {type_!r}, options ['ro']",
            "bind or rbind among the options: a runtime adds none, and the container does not "
            "start (ENODEV)",
            (5,),
        )
