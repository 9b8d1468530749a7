from __future__ import annotations

import socket as sockets
import threading
from pathlib import Path

import pytest

from pytest_dra.kubelet import Kubelet
from pytest_dra.kubelet import KubeletSettings
from pytest_dra.kubelet import watcher
from pytest_dra.kubelet.registration import Next
from pytest_dra.kubelet.watcher import Schedule
from pytest_dra.kubelet.watcher import dot_directories
from pytest_dra.kubelet.watcher import scan
from pytest_dra.waiting import Deadline
from tests.kubelet.conftest import Node
from tests.kubelet.conftest import soon

DRIVER = "gpu.example.com"


def _bind(path: Path) -> None:
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as bound:
        bound.bind(str(path))


def test_sockets_count_with_any_name_in_any_subdirectory_and_through_links(node: Node) -> None:
    deep = node.registry / "one" / "two"
    deep.mkdir(parents=True)
    for path in (node.registry / "plain", deep / "x.sock", node.root / "outside.sock"):
        _bind(path)
    (node.registry / "link").symlink_to(node.root / "outside.sock")
    (node.registry / "dangling").symlink_to(node.root / "nothing")
    (node.registry / "loop").symlink_to(node.registry)
    (node.registry / "file.sock").touch()
    assert set(scan(node.registry)) == {
        node.registry / "plain",
        deep / "x.sock",
        node.registry / "link",
    }


def test_names_with_a_leading_dot_are_skipped(node: Node) -> None:
    (node.registry / ".hidden").mkdir()
    _bind(node.registry / ".a.sock")
    _bind(node.registry / ".hidden" / "b.sock")
    assert scan(node.registry) == {}


def test_dot_directories_that_are_there_when_the_kubelet_starts_are_entered(node: Node) -> None:
    (node.registry / ".early" / "deep").mkdir(parents=True)
    (node.registry / "plain" / ".early").mkdir(parents=True)
    early = dot_directories(node.registry)
    assert early == {node.registry / ".early", node.registry / "plain" / ".early"}
    (node.registry / ".late").mkdir()
    for path in (".early/deep/a.sock", "plain/.early/b.sock", ".late/c.sock", ".early/.d.sock"):
        _bind(node.registry / path)
    assert set(scan(node.registry, dot_directories=early)) == {
        node.registry / ".early" / "deep" / "a.sock",
        node.registry / "plain" / ".early" / "b.sock",
    }


def test_a_missing_directory_is_an_empty_one() -> None:
    assert scan(Path("/nonexistent/registry")) == {}


def test_a_scan_is_bounded(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "MAX_ENTRIES", 5)
    monkeypatch.setattr(watcher, "MAX_DEPTH", 2)
    deep = node.registry / "1" / "2" / "3"
    deep.mkdir(parents=True)
    _bind(deep / "too-deep.sock")
    assert scan(node.registry) == {}
    for number in range(8):
        _bind(node.registry / f"{number}.sock")
    assert 3 <= len(scan(node.registry)) <= 5


def test_a_removed_socket_file_deregisters(node: Node) -> None:
    plugin = node.plugin().start()
    kubelet = node.kubelet()
    found = kubelet.plugin(DRIVER, Deadline.after(10))
    assert found is not None
    soon(lambda: plugin.notified)
    plugin.socket.unlink()
    soon(lambda: kubelet.plugins() == ())
    soon(lambda: not found.client.is_connected)
    assert kubelet.prepare(DRIVER, []).code == "UNAVAILABLE"
    assert plugin.notified == [(True, "")]


def test_another_socket_at_the_same_path_is_registered_anew(node: Node) -> None:
    node.plugin().start()
    kubelet = node.kubelet()
    first = kubelet.plugin(DRIVER, Deadline.after(10))
    successor = node.plugin("b", name="next.example.com")
    successor.socket = node.root / "b-new.sock"
    successor.start()
    successor.socket.rename(node.registry / "a-reg.sock")
    assert kubelet.plugin("next.example.com", Deadline.after(10)) is not None
    assert first not in kubelet.plugins()
    assert len(kubelet.plugins()) == 1


def test_a_chmod_of_the_socket_is_no_new_socket(node: Node) -> None:
    plugin = node.plugin().start()
    before = scan(node.registry)
    plugin.socket.chmod(0o600)
    assert scan(node.registry) == before


def test_two_instances_are_both_registered_and_the_newest_connected_one_is_called(
    node: Node,
) -> None:
    old = node.plugin("a").start()
    kubelet = node.kubelet()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    new = node.plugin("b").start()
    soon(lambda: len(kubelet.plugins()) == 2)
    newest = kubelet.plugins()[0]
    assert newest.endpoint == new.endpoint
    soon(lambda: newest.client.is_connected)
    assert kubelet.prepare(DRIVER, []).ok
    assert new.authorities[-1][0] == "dra"
    new.stop()
    soon(lambda: not newest.client.is_connected)
    assert kubelet.prepare(DRIVER, []).ok
    assert old.authorities[-1][0] == "dra"


def test_a_restarted_kubelet_registers_and_wipes_again(node: Node) -> None:
    plugin = node.plugin().start()
    kubelet = node.kubelet()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    soon(lambda: len(plugin.notified) == 1)
    kubelet.restart()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    soon(lambda: len(plugin.notified) == 2)
    assert node.wiped == [None, None]
    kubelet.stop()
    kubelet.stop()
    assert kubelet.plugins() == ()


def test_a_failing_wipe_at_the_start_goes_to_the_caller(node: Node) -> None:
    def wipe(driver: str | None) -> None:
        raise OSError("no API server")

    kubelet = Kubelet(registry_dir=node.registry, timeline=node.timeline, instance="A", wipe=wipe)
    with pytest.raises(OSError, match="no API server"):
        kubelet.start()
    kubelet.stop()


def test_the_pauses_are_the_kubelets_and_survive_removal() -> None:
    schedule = Schedule(KubeletSettings())
    path = Path("/reg/a.sock")
    now, pauses = 0.0, []
    for _ in range(10):
        assert schedule.due({path: (1, 1, 1)}, now=now, limit=1) == [path]
        schedule.begin(path, (1, 1, 1))
        schedule.end(path, Next.RETRY, plugin=None, now=now)
        begun = now
        while not schedule.due({path: (1, 1, 1)}, now=now, limit=1):
            now += 0.5
        pauses.append(now - begun)
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122]
    schedule.begin(path, (1, 1, 1))
    schedule.end(path, Next.RETRY, plugin=None, now=now)
    assert schedule.departed({}) == []
    schedule.forget_old({})
    assert schedule.due({path: (1, 2, 2)}, now=now + 121, limit=1) == []
    assert schedule.due({path: (1, 2, 2)}, now=now + 122, limit=1) == [path]


def test_what_is_settled_or_busy_is_not_due() -> None:
    schedule = Schedule(KubeletSettings())
    path = Path("/reg/a.sock")
    found = {path: (1, 1, 1)}
    schedule.begin(path, (1, 1, 1))
    assert schedule.due(found, now=9e9, limit=1) == []
    schedule.end(path, Next.NEVER, plugin=None, now=0.0)
    assert schedule.due(found, now=9e9, limit=1) == []
    assert schedule.departed({path: (1, 2, 2)}) == []
    assert schedule.due({path: (1, 2, 2)}, now=9e9, limit=1) == [path]


def test_a_socket_that_was_replaced_between_look_and_attempt_is_registered_once() -> None:
    schedule = Schedule(KubeletSettings())
    path, seen, met = Path("/registry/a.sock"), (1, 1, 1), (1, 2, 2)
    schedule.begin(path, seen)
    schedule.identify(path, met)
    schedule.end(path, Next.REGISTERED, plugin=None, now=0.0)
    assert schedule.is_of(path, met)
    assert not schedule.is_of(path, seen)
    assert schedule.departed({path: met}) == []
    assert schedule.due({path: met}, now=1.0, limit=1) == []


def test_threads_end_with_the_kubelet(node: Node) -> None:
    node.plugin().start()
    kubelet = node.kubelet()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    kubelet.stop()
    soon(lambda: not [t for t in threading.enumerate() if t.name.startswith("kubelet-")])


def test_a_link_is_followed_to_where_it_leads_for_the_plugin(node: Node) -> None:
    node.plugin(socket=node.root / "inside.sock").start()
    for name in ("good", "bad"):
        (node.registry / name).symlink_to(f"/var/lib/kubelet/plugins/{name}.sock")

    def locate(path: Path) -> Path:
        return node.root / "inside.sock" if path == node.registry / "good" else path

    assert list(scan(node.registry, locate=locate)) == [node.registry / "good"]
    kubelet = node.kubelet(locate=locate)
    plugin = soon(lambda: next(iter(kubelet.plugins()), None))
    assert plugin.socket == node.registry / "good"
    (node.registry / "good").unlink()
    soon(lambda: not kubelet.plugins())
