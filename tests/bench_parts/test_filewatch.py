"""What the watch tells of the files of a directory, and what it does not."""

from __future__ import annotations

import collections
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import inotify_simple
import pytest

from pytest_dra.bench import filewatch
from pytest_dra.bench.filewatch import FileWatch
from pytest_dra.timeline import FileEvent
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

SOON_S = 10.0


def look(path: Path) -> tuple[str, str]:
    """A reader whose digest is the text and whose problem is that it is no ``whole`` one."""
    text = path.read_text("utf-8")
    return text, "" if text == "whole" else "half"


class Watched:
    """A directory with its watch."""

    def __init__(self, root: Path) -> None:
        self.directory = root / "cdi"
        self.other = root / "other"
        self.directory.mkdir()
        self.other.mkdir()
        self.timeline = Timeline()
        self.watch = FileWatch(
            [root / "static", self.directory], timeline=self.timeline, instance="a", look=look
        )

    def told(self) -> list[tuple[str, str]]:
        """Name and action of each event up to now."""
        self.watch.catch_up()
        return [(event.name, event.action) for event in self.events()]

    def events(self) -> list[FileEvent]:
        """What is on the timeline."""
        return [entry.event for entry in self.timeline.entries(FileEvent)]


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    made.watch.start()
    yield made
    made.watch.stop()


def test_a_file_written_in_place_is_created_modified_and_written(watched: Watched) -> None:
    (watched.directory / "a.json").write_text("whole", "utf-8")
    assert watched.told() == [("a.json", "created"), ("a.json", "modified"), ("a.json", "written")]
    last = watched.events()[-1]
    assert (last.digest, last.problem) == ("whole", "")
    assert (last.directory, last.instance) == (str(watched.directory), "a")


def test_a_rename_inside_the_directory_has_two_halves_with_one_cookie(watched: Watched) -> None:
    (watched.directory / ".a.tmp").write_text("half", "utf-8")
    (watched.directory / ".a.tmp").rename(watched.directory / "a.yaml")
    assert watched.told() == [(".a.tmp", "moved-from"), ("a.yaml", "moved-to")]
    left, came = watched.events()
    assert left.cookie == came.cookie != 0
    assert (left.digest, came.digest, came.problem) == ("", "half", "half")


def test_what_comes_from_elsewhere_shows_one_half_and_links_are_created(watched: Watched) -> None:
    for name in ("moved.json", "linked.json", "named.json"):
        (watched.other / name).write_text("whole", "utf-8")
    (watched.other / "moved.json").rename(watched.directory / "moved.json")
    (watched.directory / "linked.json").hardlink_to(watched.other / "linked.json")
    (watched.directory / "named.json").symlink_to(watched.other / "named.json")
    assert watched.told() == [
        ("moved.json", "moved-to"),
        ("linked.json", "created"),
        ("named.json", "created"),
    ]


def test_of_files_that_are_no_specs_only_renames_and_removals_are_told(watched: Watched) -> None:
    (watched.directory / "x.txt").write_text("whole", "utf-8")
    (watched.directory / "folder.json").mkdir()
    (watched.directory / "x.txt").rename(watched.directory / "y.txt")
    (watched.directory / "y.txt").unlink()
    (watched.directory / "folder.json").rmdir()
    assert watched.told() == [
        ("x.txt", "moved-from"),
        ("y.txt", "deleted"),
        ("folder.json", "deleted"),
    ]


def test_many_writes_are_one_modification(watched: Watched) -> None:
    with (watched.directory / "a.json").open("w", encoding="utf-8") as file:
        for _ in range(50):
            file.write("x")
            file.flush()
            watched.watch.catch_up()
    assert [action for _, action in watched.told()] == ["created", "modified", "written"]


def test_a_file_that_is_written_again_meanwhile_is_not_judged(watched: Watched) -> None:
    for text in ("half", "whole"):
        (watched.directory / "a.json").write_text(text, "utf-8")
    watched.told()
    written = [event.problem for event in watched.events() if event.action == "written"]
    assert written in ([""], ["", ""], ["half", ""])


def test_the_thread_tells_without_being_asked(watched: Watched) -> None:
    (watched.directory / "a.json").write_text("whole", "utf-8")
    assert until(watched.timeline, lambda: len(watched.events()) == 3, Deadline.after(SOON_S))


def test_a_large_file_is_not_read(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filewatch, "LOOK_BYTES", 3)
    (watched.directory / "a.json").write_text("half", "utf-8")
    watched.told()
    assert watched.events()[-1].digest == ""


def test_a_directory_may_vanish_and_come_back(watched: Watched) -> None:
    shutil.rmtree(watched.directory)
    assert watched.told() == [("", "vanished")]
    watched.directory.mkdir()

    def back() -> bool:
        return watched.told()[-1] == ("", "appeared")

    assert until(watched.timeline, back, Deadline.after(SOON_S))
    watched.directory.rename(watched.other / "moved")
    (watched.other / "moved" / "a.json").write_text("whole", "utf-8")
    assert watched.told()[2:] == [("", "vanished")]


def test_a_directory_that_appears_late_is_watched_without_being_asked(watched: Watched) -> None:
    (watched.directory.parent / "static").mkdir()

    def appeared() -> bool:
        return [event.action for event in watched.events()] == ["appeared"]

    assert until(watched.timeline, appeared, Deadline.after(SOON_S))


def test_a_link_in_the_place_of_the_directory_is_not_followed(watched: Watched) -> None:
    watched.directory.rmdir()
    watched.directory.symlink_to(watched.other)
    (watched.other / "a.json").write_text("whole", "utf-8")
    assert watched.told() == [("", "vanished")]


def test_a_flood_ends_the_record_and_says_so(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.watch._left = 5
    for number in range(20):
        (watched.directory / f"{number}.json").touch()
    told = watched.told()
    assert len(told) == 6
    assert told[-1] == ("", "lost")
    assert watched.watch.problem == "more than 20000 events in the CDI directories"
    (watched.directory / "a.json").touch()
    assert len(watched.told()) == 6


def test_a_full_queue_of_the_kernel_ends_the_record(watched: Watched) -> None:
    overflow = inotify_simple.Event(-1, inotify_simple.flags.Q_OVERFLOW, 0, "")
    with watched.watch._lock:
        watched.watch._take(collections.deque([overflow]))
    assert watched.watch.problem == "the kernel's queue of events was full"


def test_where_the_kernel_gives_no_watch_the_reason_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(24, os.strerror(24))

    monkeypatch.setattr(inotify_simple, "INotify", refuse)
    made = Watched(tmp_path)
    made.watch.start()
    made.watch.catch_up()
    made.watch.stop()
    assert made.watch.problem == "inotify: Too many open files"


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_nothing_is_left_of_a_stopped_watch(tmp_path: Path) -> None:
    threads, descriptors = threading.active_count(), open_descriptors()
    made = Watched(tmp_path)
    for _ in range(3):
        made.watch.start()
        made.watch.start()
        made.watch.stop()
        made.watch.stop()
    assert (threading.active_count(), open_descriptors()) == (threads, descriptors)
