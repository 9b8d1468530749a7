"""Judgements of health streams."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pytest_dra.checks import health
from pytest_dra.checks.health import Stream
from pytest_dra.spec import Json
from pytest_dra.timeline import Entry
from pytest_dra.timeline import HealthReport
from pytest_dra.timeline import StreamEvent
from tests.checks.raising import Said
from tests.checks.raising import said

V1 = "v1.DRAResourceHealth"
EPOCH = 1_000_000.0


def device(name: str = "d", **more: Any) -> Json:
    """A device as a report has it."""
    return {
        "pool_name": "p",
        "device_name": name,
        "health": 1,
        "last_updated_time": 0,
        "health_check_timeout_seconds": 0,
        "message": "",
        **more,
    }


def report(at: float, *devices: Json, left_out: int = 0, instance: str = "a") -> Entry[Any]:
    event = HealthReport(
        instance=instance, driver="x", service=V1, devices=devices, left_out=left_out
    )
    return Entry(int(at * 10), at, False, event)


def stream_event(at: float, action: str, code: str = "", instance: str = "a") -> Entry[Any]:
    event = StreamEvent(
        instance=instance, driver="x", service=V1, action=action, code=code, details="why"
    )
    return Entry(int(at * 10), at, False, event)


def stream(*reports: Entry[Any], until: float = 100.0, code: str = "") -> Stream:
    ended = [stream_event(until, "ended", code)] if code else []
    made = health.streams([stream_event(0, "opened"), *reports, *ended], now=until)
    assert len(made) == 1
    return made[0]


def always(name: tuple[str, str], since: float, until: float) -> bool:
    return True


def never(name: tuple[str, str], since: float, until: float) -> bool:
    return False


def test_streams_are_told_apart_by_who_has_opened_them_and_how_often() -> None:
    found = health.streams(
        [
            report(0, device("early")),
            stream_event(1, "opened"),
            stream_event(2, "opened", instance="b"),
            report(3, device("one")),
            report(3, device("other"), instance="b", left_out=2),
            stream_event(4, "ended", "ABORTED"),
            stream_event(9, "opened"),
            stream_event(10, "full", instance="b"),
        ],
        now=20,
    )
    assert [(each.instance, each.began, each.until) for each in found] == [
        ("a", 1, 4),
        ("b", 2, 10),
        ("a", 9, 20),
    ]
    assert [health.names([each]) for each in found] == [{("p", "one")}, {("p", "other")}, set()]
    assert [bool(each.ended) for each in found] == [True, False, False]
    assert [each.left_out for each in found] == [0, 2, 0]
    assert [each.told_s for each in found] == [1, 7, 0]


def test_the_lease_is_the_devices_or_the_kubelets() -> None:
    assert health.longest_lease_s([]) == 30
    given = [device(health_check_timeout_seconds=each) for each in (4, 7)]
    assert health.longest_lease_s([stream(report(1, *given))]) == 7
    assert health.lease_s(device(health_check_timeout_seconds=-1)) == 30


def test_a_first_message_comes_in_time() -> None:
    def first(*some: Stream) -> Said | None:
        return said(lambda: health.first_must_come_soon(some, service=V1, within_s=10))

    where, want = f"{V1}/NodeWatchResources", "a first message within 10 s"
    assert first(stream(report(9))) is None
    assert first() == Said(where, "no message in 10 s", want)
    assert first(stream(until=10.5)) == Said(where, "no message in 10 s", want)
    assert first(stream(report(10.5))) == Said(where, "a first message after 10.5 s", want)
    ended = first(stream(until=1, code="UNIMPLEMENTED"))
    assert ended == Said(where, "no message, and the end: UNIMPLEMENTED: why", want)


def test_a_driver_without_health_says_so() -> None:
    def declined(found: Stream | None) -> Said | None:
        return said(lambda: health.must_be_declined(found, service=V1, within_s=5))

    where = f"{V1}/NodeWatchResources of a driver that does not declare DeviceHealth"
    want = "UNIMPLEMENTED within 5 s"
    assert declined(stream(until=1, code="UNIMPLEMENTED")) is None
    assert declined(stream(until=1, code="OK")) == Said(where, "OK", want, (10,))
    silent = Said(where, "an open stream without a message after 5 s", want)
    assert declined(stream()) == silent
    assert declined(None) == silent


def test_reported_devices_are_published_or_have_been() -> None:
    asked: list[tuple[float, float]] = []

    def published(name: tuple[str, str], since: float, until: float) -> bool:
        asked.append((since, until))
        return name == ("p", "d")

    some = [stream(report(70, device("d"), device("e")))]
    found = said(lambda: health.must_be_published(some, published=published, now=99))
    assert found == Said(
        "device 'e' of pool 'p' in a health report",
        "no such device in any slice of the driver",
        "pool and name of a device that is published",
        (700,),
    )
    assert set(asked) == {(10, 99)}


def test_reports_together_cover_every_device() -> None:
    wanted = {("p", name) for name in "abcde"}
    some = [stream(report(1, device("a")), report(2, device("b")))]
    assert said(lambda: health.must_cover(some, {("p", "a"), ("p", "b")}, within_s=35)) is None
    assert said(lambda: health.must_cover(some, wanted, within_s=35)) == Said(
        "health reports of 35 s",
        "3 of 5 devices in none: p/c, p/d, p/e",
        "each device of the node's slices, at least once in a lease",
        (10,),
    )
    partly = [dataclasses.replace(some[0], left_out=3)]
    assert said(lambda: health.must_cover(partly, wanted, within_s=35)) is None


def test_a_new_stream_has_all_devices_again() -> None:
    wanted = {("p", name) for name in "abcde"}
    found = said(lambda: health.must_come_again([stream(report(1))], wanted, within_s=4))
    assert found == Said(
        "health reports of a new stream in 4 s",
        "5 of 5 devices in none: p/a, p/b, p/c, ...",
        "all devices that were reported before",
        (10,),
    )
    again = [stream(report(1, *map(device, "abcde")))]
    assert said(lambda: health.must_come_again(again, wanted, within_s=4)) is None


def test_a_lease_goes_on_from_report_to_report_and_to_the_end() -> None:
    def repeated(found: Stream, published: Any = always) -> Said | None:
        return said(lambda: health.must_be_repeated([found], published=published))

    short = device(health_check_timeout_seconds=4)
    assert repeated(stream(report(1, short), report(4.9, short), until=8)) is None
    where, want = "health of device 'd' of pool 'p'", "the next report before 4 s have passed"
    late = stream(report(1, short), report(5.5, short), until=6)
    assert repeated(late) == Said(where, "4.5 s between two reports", want, (10, 55))
    assert repeated(late, never) is None
    once = stream(report(1, short), until=6)
    assert repeated(once) == Said(where, "5.0 s since the last report", want, (10,))
    assert repeated(dataclasses.replace(once, left_out=1)) is None
    usual = stream(report(1, device()), report(20, device("e")), until=30.9)
    assert repeated(usual) is None
    assert repeated(dataclasses.replace(usual, until=31.5)) is not None


def test_a_device_must_have_been_there_when_its_lease_was_over() -> None:
    asked: list[tuple[float, float]] = []

    def gone(name: tuple[str, str], since: float, until: float) -> bool:
        asked.append((since, until))
        return False

    health.must_be_repeated([stream(report(1, device()), until=40)], published=gone)
    assert asked == [(31, 40)]


def test_messages_are_counted_in_bytes() -> None:
    def short(text: str) -> Said | None:
        some = [stream(report(1, device(message=text)))]
        return said(lambda: health.messages_must_be_short(some))

    assert short("m" * 1024) is None
    assert short("ä" * 513) == Said(
        "message of device 'd' of pool 'p' in a health report",
        "1026 bytes",
        "at most 1024 bytes",
        (10,),
    )


@pytest.mark.parametrize("text", ["m" * 3000, "ä" * 512, "x" + "ä" * 600])
def test_messages_that_are_short_or_have_a_boundary_may_be_cut(text: str) -> None:
    some = [stream(report(1, device(message=text)))]
    assert said(lambda: health.messages_must_be_fit_to_be_cut(some)) is None


def test_a_message_is_not_cut_inside_a_character() -> None:
    some = [stream(report(1, device(message="ä" * 600)))]
    assert said(lambda: health.messages_must_be_fit_to_be_cut(some)) == Said(
        "message of device 'd' of pool 'p' in a health report",
        "1200 bytes with a character across byte 1021",
        "at most 1024 bytes, or a character that begins at 1021",
        (10,),
    )


def test_times_are_not_ahead_and_do_not_go_back() -> None:
    def plausible(*times: int) -> Said | None:
        reports = [
            report(at, device(last_updated_time=each)) for at, each in enumerate(times, start=1)
        ]
        some = [stream(*reports)]
        return said(lambda: health.times_must_be_plausible(some, epoch=EPOCH))

    assert plausible(1_000_000, 0, 1_000_000, 1_000_012) is None
    where = "last_updated_time of device 'd' of pool 'p'"
    assert plausible(1_003_601) == Said(where, "3600 s in the future", "the past", (10,))
    back = plausible(1_000_000, 0, 999_999)
    assert back == Said(where, "999999, after 1000000", "a time that does not go back", (30,))


def test_unimplemented_is_no_end_of_a_driver_with_health() -> None:
    good = [stream(report(1), until=2, code="ABORTED"), stream()]
    assert said(lambda: health.must_not_be_given_up(good)) is None
    given_up = [stream(report(1), report(2), until=3, code="UNIMPLEMENTED")]
    assert said(lambda: health.must_not_be_given_up(given_up)) == Said(
        f"the end of a stream of {V1}, after 2 reports",
        "UNIMPLEMENTED: why",
        "any other status: the kubelet never opens it again after this one",
        (30,),
    )


def test_a_known_service_is_advertised() -> None:
    health.service_must_be_advertised(["v1.DRAPlugin", V1], known=[V1])
    found = said(lambda: health.service_must_be_advertised(["v1.DRAPlugin"], known=[V1, "x"]))
    assert found == Said(
        "GetInfo.supported_versions of a driver with DeviceHealth",
        ["v1.DRAPlugin"],
        f"{V1} or x as well",
    )
