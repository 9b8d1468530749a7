"""Judgements of restarts, repairs and idle drivers: what they say."""

from __future__ import annotations

import pytest

from pytest_dra.checks import idleness
from pytest_dra.checks import publishing
from pytest_dra.checks import restarts
from pytest_dra.checks.idleness import Idleness
from pytest_dra.checks.idleness import Write
from pytest_dra.spec import Json
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said


def item(*devices: Json, generation: int = 1, pool: str = "p") -> Json:
    """A slice that is the only one of its pool."""
    return {
        "metadata": {"name": f"s-{generation}"},
        "spec": {
            "driver": "d",
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
            "devices": list(devices),
        },
    }


def device(name: str, **attributes: object) -> Json:
    return {"name": name, "attributes": {key: {"string": v} for key, v in attributes.items()}}


A, B = device("a", temperature="low", model="x"), device("b")
WARM = device("a", temperature="high", model="x")


def equal(*after: Json) -> Judgement:
    return lambda: restarts.slices_must_be_equal(
        after, before=[item(A, B)], volatile={"temperature"}, restart=2
    )


def stays(*after: Json) -> Judgement:
    return lambda: restarts.device_must_stay(after, pool="p", device=A, volatile={"temperature"})


def lives(*slices: Json, obituary: str = "", registered: bool = True) -> Judgement:
    return lambda: restarts.must_live_without_devices(
        obituary=obituary, registered=registered, slices=slices
    )


def right(*now: Json) -> Judgement:
    return lambda: publishing.must_be_right(now, before=[item(A, B)], after="an edit", within_s=9)


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(equal(item(WARM, B, generation=7)), id="V27 another name and generation"),
        pytest.param(stays(item(B), item(WARM, pool="p")), id="a volatile attribute"),
        pytest.param(lives(item()), id="one empty slice"),
        pytest.param(lives(), id="V10 no slice"),
        pytest.param(right(item(B, A, generation=4), item(generation=3)), id="an older one stays"),
        pytest.param(
            lambda: publishing.writes_must_be_few([1, 2, 3], most=3, within_s=20), id="few"
        ),
        pytest.param(
            lambda: publishing.dropped_fields_must_be_told(
                ["taints"], log="server dropped spec.devices[0].Taints", events=[]
            ),
            id="told in the log",
        ),
        pytest.param(
            lambda: publishing.dropped_fields_must_be_told(
                ["taints"], log="", events=[{"message": "no taints"}]
            ),
            id="told in an event",
        ),
        pytest.param(
            lambda: idleness.writes_must_not_repeat(Idleness(20, (Write(1, 1),), 20)), id="one"
        ),
        pytest.param(
            lambda: publishing.must_be_as_many(
                [item(B, device("c"))], before=[item(A, B)], after="trouble", within_s=9
            ),
            id="as many",
        ),
    ],
)
def test_good_drivers_are_let_pass(judgement: Judgement) -> None:
    assert said(judgement) is None


EQUAL = "slices that say the same as before, devices in the same order"


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        pytest.param(
            equal(item(B, A)),
            Said("pool 'p' after restart 2", "the same devices in another order", EQUAL),
            id="order",
        ),
        pytest.param(
            equal(item(A, device("c"))),
            Said(
                "pool 'p' after restart 2",
                "other devices, or devices that say something else: b, c",
                EQUAL,
            ),
            id="other",
        ),
        pytest.param(
            stays(item(device("a-7f"), pool="p"), item(A, pool="q")),
            Said(
                "device 'a' of pool 'p', held by a claim, after a restart of the driver",
                "not published any more",
                "the same device under the same name in the same pool",
            ),
            id="renamed",
        ),
        pytest.param(
            stays(item(device("a", model="y"))),
            Said(
                "attribute 'model' of device 'a' in pool 'p' after a restart of the driver",
                {"string": "y"},
                "{'string': 'x'} as before",
            ),
            id="attribute",
        ),
        pytest.param(
            lives(obituary="exited with code 1"),
            Said("start without a device", "exited with code 1", "a running driver"),
            id="ended",
        ),
        pytest.param(
            lives(registered=False),
            Said("start without a device", "not registered", "a driver that answers GetInfo"),
            id="mute",
        ),
        pytest.param(
            lives(item(A)),
            Said(
                "start without a device",
                "a slice with 1 devices, such as 'a'",
                "one slice without devices (preferred), or none",
            ),
            id="devices-out-of-nowhere",
        ),
        pytest.param(
            right(item(WARM)),
            Said(
                "ResourceSlices after an edit",
                "2 devices wrong (1 of them missing), such as p/a",
                "the driver's own inventory again within 9 s",
            ),
            id="wrong",
        ),
        pytest.param(
            lambda: publishing.must_be_as_many(
                [item(A)], before=[item(A, B)], after="trouble", within_s=9
            ),
            Said(
                "ResourceSlices after trouble",
                "1 devices",
                "2 devices in complete pools within 9 s",
            ),
            id="fewer",
        ),
        pytest.param(
            lambda: publishing.writes_must_be_few([4, 5, 6, 7], most=2, within_s=20),
            Said(
                "start with the feature gates of its fields off",
                "4 slice writes and more",
                "at most 2 in 20 s",
                (4, 5, 6),
            ),
            id="loop",
        ),
        pytest.param(
            lambda: publishing.dropped_fields_must_be_told(["taints"], log="ok", events=[]),
            Said(
                "log and events of a driver whose fields the API server has dropped",
                "nothing that names one of them",
                "a line with taints",
            ),
            id="untold",
        ),
        pytest.param(
            lambda: idleness.writes_must_not_repeat(
                Idleness(20.4, (Write(1, 11), Write(2, 12)), 20.4)
            ),
            Said(
                "ResourceSlices in 20 s of idle time",
                "2 writes",
                "none: nothing has changed",
                (11, 12),
            ),
            id="idle",
        ),
    ],
)
def test_bad_drivers_are_told_with_place_value_and_wish(
    judgement: Judgement, expected: Said
) -> None:
    assert said(judgement) == expected


def test_idle_time_begins_when_what_was_provoked_has_settled() -> None:
    writes = [Write(at, int(at)) for at in (1, 4, 8, 30, 41)]
    found = idleness.idleness([0.0, 40.0], writes, until=60.0)
    assert found.seconds == (40 - 8) + (60 - 41)
    assert found.longest == 40 - 8
    assert [write.serial for write in found.writes] == [30]


def test_a_late_repair_is_no_idle_write() -> None:
    found = idleness.idleness([0.0], [Write(29.0, 1), Write(30.0, 2), Write(40.0, 3)], until=60.0)
    assert found == Idleness(30.0, (Write(40.0, 3),), 30.0)


def test_a_repair_goes_on_while_the_api_server_refuses_it() -> None:
    tries = [Write(at, int(at), refused=True) for at in (30.0, 35.0, 45.0)]
    found = idleness.idleness([0.0], [*tries, Write(66.0, 66), Write(80.0, 80)], until=100.0)
    assert found == Idleness(34.0, (Write(80.0, 80),), 34.0)


def test_a_repair_that_is_refused_for_ever_is_no_settling_any_more() -> None:
    tries = [Write(float(at), at, refused=True) for at in range(30, 120, 20)]
    found = idleness.idleness([0.0], tries, until=130.0)
    assert [write.serial for write in found.writes] == [110]


def test_endless_writes_never_settle() -> None:
    writes = [Write(float(at), at) for at in range(0, 100, 4)]
    found = idleness.idleness([-1.0], writes, until=100.0)
    assert len(found.writes) == 9


def test_time_that_is_too_short_to_settle_is_not_idle() -> None:
    assert idleness.idleness([0.0, 4.0], [], until=8.0) == idleness.NONE


def test_one_write_in_idle_time_is_a_warning() -> None:
    one, none = Idleness(20, (Write(1, 1),), 20), Idleness(20, (), 20)
    assert idleness.single_write(one) == (
        "ResourceSlices: one write in idle time; want none: nothing has changed"
    )
    assert idleness.single_write(none) == ""


def with_groups(*groups: str) -> Json:
    """A device that consumes counters, in these compatibility groups."""
    return {"name": "a", "consumesCounters": [{"counterSet": "s", "compatibilityGroups": groups}]}


def test_slices_without_groups_are_let_pass_where_they_are_dropped() -> None:
    bodies = [{}, item(), item(A), item(with_groups())]
    assert said(lambda: publishing.groups_must_be_left_out(bodies, within_s=10)) is None


def test_groups_that_are_sent_on_are_told() -> None:
    bodies = [item(A), item(B, with_groups("even"))]
    assert said(lambda: publishing.groups_must_be_left_out(bodies, within_s=10)) == Said(
        "consumesCounters of device 'a'",
        "compatibilityGroups ('even',)",
        "none: the API server has dropped the field from a write 10 s before",
    )


def test_a_driver_that_does_not_end_in_time_is_told_with_the_claim() -> None:
    def judge(*, ended: bool) -> Judgement:
        return lambda: restarts.must_end_in_time(ended=ended, within_s=30.0, during="claim A")

    assert said(judge(ended=True)) is None
    assert said(judge(ended=False)) == Said(
        "SIGTERM during Prepare of claim A",
        "the driver still ran 30 s later",
        "its end within the grace period of a pod",
    )
