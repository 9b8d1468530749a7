"""Processes of a run that use one whole cluster meet in a folder."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pytest_dra.clusters.owner import Owner
from pytest_dra.live import meeting
from pytest_dra.live.meeting import Meeting
from pytest_dra.live.meeting import MeetingError
from pytest_dra.live.meeting import Met

MET = Met(cluster="pytest-dra-abc", run="123456", owner=Owner.here())


def test_whoever_waits_asks_and_gets_what_is_there(tmp_path: Path) -> None:
    made = Meeting(tmp_path)
    assert not made.is_asked()
    found: list[Met] = []
    waiting = threading.Thread(target=lambda: found.append(Meeting(tmp_path).wait()))
    waiting.start()
    while not made.is_asked():
        assert waiting.is_alive()
    made.answer(MET)
    waiting.join(20)
    assert found == [MET] == [Meeting(tmp_path).wait()]


def test_what_cannot_be_had_is_told_in_the_words_of_who_tried(tmp_path: Path) -> None:
    Meeting(tmp_path).refuse("ClusterError: disk full")
    with pytest.raises(MeetingError, match="disk full"):
        Meeting(tmp_path).wait()


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "READY_S", 0.0)
    with pytest.raises(MeetingError, match="not there after"):
        Meeting(tmp_path).wait()


def test_several_use_the_driver_and_who_disturbs_has_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meeting, "TURN_S", 0.0)
    one, other = Meeting(tmp_path), Meeting(tmp_path)
    with one.using(), other.using():
        pass
    with one.using(), pytest.raises(MeetingError, match="without a pause"), other.alone():
        pass
    with one.alone(), pytest.raises(MeetingError), other.using():
        pass
    with other.alone():
        pass


def test_namespaces_are_looked_after_by_who_runs_the_allocator(tmp_path: Path) -> None:
    Meeting(tmp_path).serve("mine")
    assert Meeting(tmp_path).serves("mine")
    assert not Meeting(tmp_path).serves("yours")
