"""The lines of a timeline that prove a failed case."""

from __future__ import annotations

import pytest

from pytest_dra.report.excerpt import LAST_LINES
from pytest_dra.report.excerpt import excerpt
from pytest_dra.report.excerpt import line
from pytest_dra.report.plain import LINE_LIMIT
from pytest_dra.report.results import EXCERPT_LINES
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import EndpointProbe
from pytest_dra.timeline import Entry
from pytest_dra.timeline import Event
from pytest_dra.timeline import FileEvent
from pytest_dra.timeline import Mark
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import RegistrationCall
from pytest_dra.timeline import Timeline

REQUEST = ApiRequest(
    identity="system:node:n",
    verb="create",
    group="resource.k8s.io",
    version="v1",
    resource="resourceslices",
    namespace="",
    name="a",
    subresource="",
    query="",
    user_agent="x",
    body={},
    code=422,
    answer={"message": "spec.pool.name: Invalid value"},
    duration_s=0.002,
)
CALL = DraCall(
    instance="plugin",
    driver="gpu.example.com",
    service="k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin",
    method="NodePrepareResources",
    claims=({"namespace": "default", "name": "c", "uid": "u-1"},),
    response={"u-1": {"error": "no"}},
    code="OK",
    details="",
    duration_s=0.01,
)
INFO = RegistrationCall(
    instance="plugin",
    socket="/tmp/dra-x/registry/gpu.sock",
    method="GetInfo",
    request={},
    response=None,
    code="DEADLINE_EXCEEDED",
    details="Deadline Exceeded",
    duration_s=1.0,
)


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        pytest.param(
            REQUEST,
            "api create resourceslices.resource.k8s.io/v1 a -> 422: spec.pool.name: Invalid value "
            "(0.002 s) by system:node:n",
            id="request",
        ),
        pytest.param(
            CALL,
            'NodePrepareResources [default/c (u-1)] -> OK {"u-1": {"error": "no"}} (0.010 s)',
            id="call",
        ),
        pytest.param(
            INFO,
            "registration GetInfo on gpu.sock -> DEADLINE_EXCEEDED Deadline Exceeded (1.000 s)",
            id="registration",
        ),
        pytest.param(
            EndpointProbe(
                instance="p", endpoint="/a/dra.sock", connected=False, error="x", duration_s=0
            ),
            "endpoint dra.sock not connected: x",
            id="endpoint",
        ),
        pytest.param(
            ProcessEvent(
                instance="p",
                component="driver",
                action="ended",
                pid=7,
                exit_code=-9,
                detail="by us",
            ),
            "process driver ended, exit code -9 by us",
            id="process",
        ),
        pytest.param(
            FileEvent(
                instance="p",
                directory="/tmp/dra-x/cdi",
                name="gpu.json",
                action="moved-to",
                cookie=7,
                digest="a" * 64,
                problem="kind: no vendor",
            ),
            "file cdi/gpu.json moved-to: kind: no vendor",
            id="file",
        ),
        pytest.param(
            FileEvent(instance="p", directory="/tmp/dra-x/cdi", name="", action="vanished"),
            "file cdi vanished",
            id="directory",
        ),
        pytest.param(Mark(text="slices wiped"), "suite: slices wiped", id="mark"),
    ],
)
def test_each_kind_of_entry_has_its_line(event: Event, wanted: str) -> None:
    assert line(Entry(87, 1.25, False, event)) == f"+1.250 s #87 {wanted}"


def test_what_happened_during_a_disturbance_says_so() -> None:
    assert line(Entry(1, 0.0, True, Mark(text="x"))) == "+0.000 s #1 suite: x (disturbed)"


def timeline_of(count: int) -> Timeline:
    timeline = Timeline()
    for number in range(count):
        timeline.add(Mark(text=f"mark {number}"))
    return timeline


def serials(lines: tuple[str, ...]) -> list[int]:
    return [int(each.split("#")[1].split()[0]) for each in lines if "#" in each]


def test_the_entries_that_are_named_are_shown() -> None:
    assert serials(excerpt(timeline_of(10), (7, 2, 99))) == [2, 7]


def test_without_proof_the_last_entries_of_the_case_are_shown() -> None:
    assert serials(excerpt(timeline_of(100), (), since=95)) == [95, 96, 97, 98, 99]
    assert len(excerpt(timeline_of(100), ())) == LAST_LINES


def test_of_many_entries_the_first_and_the_last_are_shown() -> None:
    lines = excerpt(timeline_of(500), tuple(range(500)))
    assert len(lines) == EXCERPT_LINES
    assert "... 461 entries are left out" in lines
    shown = serials(lines)
    assert (shown[0], shown[-1]) == (0, 499)
    assert len(shown) + 461 == 500


def test_a_line_is_bounded_and_printable() -> None:
    timeline = Timeline()
    timeline.add(Mark(text="x\x1b" * 100_000))
    (only,) = excerpt(timeline, (0,))
    assert len(only) <= LINE_LIMIT
    assert only.isprintable()
