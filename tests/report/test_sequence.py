"""The moments that are drawn of a failed case: those that decide, and what was near them."""

from __future__ import annotations

import pytest

from pytest_dra.report.sequence import sequence
from pytest_dra.report.steps import STEPS_LIMIT
from pytest_dra.report.steps import Party
from pytest_dra.report.steps import Step
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Event
from pytest_dra.timeline import FileEvent
from pytest_dra.timeline import HealthReport
from pytest_dra.timeline import Mark
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import StreamEvent
from pytest_dra.timeline import Timeline
from tests.report.test_excerpt import CALL
from tests.report.test_excerpt import INFO

DRIVER = "system:serviceaccount:gpu:driver"


def request(verb: str = "create", *, identity: str = DRIVER, code: int = 200) -> ApiRequest:
    return ApiRequest(
        identity=identity,
        verb=verb,
        group="resource.k8s.io",
        version="v1",
        resource="resourceslices",
        namespace="",
        name="a",
        subresource="",
        query="",
        user_agent="x",
        body=None,
        code=code,
        answer=None,
        duration_s=0.0,
    )


STREAM = StreamEvent(instance="a", driver="d", service="v1", action="opened")
ENDED = StreamEvent(instance="a", driver="d", service="v1", action="ended", code="CANCELLED")


def line_of(*events: Event) -> Timeline:
    timeline = Timeline()
    for each in events:
        timeline.add(each)
    return timeline


@pytest.mark.parametrize(
    ("event", "source", "target"),
    [
        (CALL, Party.KUBELET, Party.DRIVER),
        (INFO, Party.KUBELET, Party.DRIVER),
        (request(), Party.DRIVER, Party.API_SERVER),
        (request(identity="system:node:n"), Party.KUBELET, Party.API_SERVER),
        (request(identity="pytest-dra"), Party.API_SERVER, Party.API_SERVER),
        (
            FileEvent(instance="a", directory="/cdi", name="x.json", action="written"),
            Party.DRIVER,
            Party.CDI,
        ),
        (
            HealthReport(instance="a", driver="d", service="v1", devices=()),
            Party.DRIVER,
            Party.KUBELET,
        ),
        (STREAM, Party.KUBELET, Party.DRIVER),
        (ENDED, Party.DRIVER, Party.KUBELET),
        (
            ProcessEvent(instance="a", component="plugin", action="start", pid=1),
            Party.DRIVER,
            Party.DRIVER,
        ),
        (Mark(text="the node's slices are wiped"), Party.KUBELET, Party.KUBELET),
    ],
)
def test_an_arrow_goes_from_who_speaks_to_who_listens(
    event: Event, source: Party, target: Party
) -> None:
    (step,) = sequence(line_of(event), (0,))
    assert (step.source, step.target, step.decides) == (source, target, True)


def test_the_proof_is_marked_among_what_was_near_it() -> None:
    timeline = line_of(request("get"), CALL, request("update"))
    found = sequence(timeline, (1,))
    assert [each.serial for each in found] == [0, 1, 2]
    assert [each.decides for each in found] == [False, True, False]


def test_informers_and_the_beginnings_of_cases_are_left_out_but_a_refusal_is_not() -> None:
    timeline = line_of(
        Mark(text="case PREP-001 begins"), request("list"), request("watch", code=403), CALL
    )
    assert [each.serial for each in sequence(timeline, (3,))] == [2, 3]


def test_without_proof_the_last_entries_end_with_the_judgement() -> None:
    *before, last = sequence(line_of(CALL, INFO), (), since=1, judged="no slice")
    assert [each.serial for each in before] == [1]
    assert (last.text, last.decides) == ("judged: no slice", True)


def test_of_a_long_case_the_neighbours_stay_and_gaps_are_counted() -> None:
    timeline = line_of(*(CALL for _ in range(200)))
    found = sequence(timeline, (20, 150))
    assert len(found) == STEPS_LIMIT
    assert {20, 150} <= {each.serial for each in found}
    assert found[0].skipped == 0
    assert sum(each.skipped for each in found) == found[-1].serial - found[0].serial - 23


def test_of_too_many_proofs_the_first_and_the_last_stay() -> None:
    found = sequence(line_of(*(CALL for _ in range(100))), tuple(range(100)))
    assert [each.serial for each in found] == [*range(12), *range(88, 100)]


def test_nothing_on_the_timeline_is_no_error() -> None:
    assert [each.decides for each in sequence(Timeline(), (), judged="x")] == [True]
    assert sequence(Timeline(), (7,), judged="x")[-1].decides


def test_a_step_crosses_a_channel_unchanged() -> None:
    step = Step(at=1.5, serial=3, source=Party.DRIVER, target=Party.CDI, text="x", skipped=2)
    assert Step.from_dict(step.to_dict()) == step


def test_a_text_is_one_printable_line() -> None:
    step = Step(at=0, serial=0, source=Party.CDI, target=Party.CDI, text="a\n\x1b[31mb")
    assert step.text == "a \\x1b[31mb"
