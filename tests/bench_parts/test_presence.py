"""When devices were published, as the timeline tells it."""

from __future__ import annotations

from pytest_dra.bench.presence import Presence
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline
from tests.bench_parts.requests import api_request

DRIVER = "x.example.com"


def write(timeline: Timeline, name: str, *devices: str, driver: str = DRIVER) -> float:
    spec: Json = {
        "driver": driver,
        "pool": {"name": "p"},
        "devices": [{"name": d} for d in devices],
    }
    return _request(timeline, "update", name, {"metadata": {"name": name}, "spec": spec})


def delete(timeline: Timeline, name: str) -> float:
    return _request(timeline, "delete", name, None)


def _request(timeline: Timeline, verb: str, name: str, answer: Json | None) -> float:
    event = api_request(verb, name, body=answer, answer=answer)
    return timeline.add(event).at


def test_a_device_is_there_from_its_slice_to_the_end_of_it() -> None:
    timeline = Timeline()
    came = write(timeline, "one", "a", "b")
    went = write(timeline, "one", "b")
    there = Presence(timeline, DRIVER)
    a, b = ("p", "a"), ("p", "b")
    assert there.throughout(a, came, went)
    assert not there.throughout(a, came, went + 1)
    assert there.at_some_time(a, went, went + 60)
    assert not there.at_some_time(a, went + 1, went + 60)
    assert there.throughout(b, came, went + 1000)
    assert not there.at_some_time(("p", "c"), 0, 1000)


def test_a_device_that_moves_to_another_slice_was_never_away() -> None:
    timeline = Timeline()
    came = write(timeline, "one", "a")
    write(timeline, "two", "a")
    went = delete(timeline, "one")
    assert Presence(timeline, DRIVER).throughout(("p", "a"), came, went + 1)


def test_slices_of_other_drivers_do_not_count() -> None:
    timeline = Timeline()
    write(timeline, "one", "a", driver="y.example.com")
    assert not Presence(timeline, DRIVER).at_some_time(("p", "a"), 0, 1000)
