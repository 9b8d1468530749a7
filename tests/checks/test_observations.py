"""What a timeline shows of a driver, put together and told."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pytest_dra.checks import observations
from pytest_dra.checks.health import Stream
from pytest_dra.checks.idleness import Idleness
from pytest_dra.checks.idleness import Write
from pytest_dra.checks.rights import Grant
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from pytest_dra.timeline import HealthReport
from tests.bench_parts.requests import api_request

V1 = "v1.DRAResourceHealth"

SLICES = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices"], "verbs": ["create"]}
UNUSED = {"group": "", "resource": "nodes", "verbs": ["get", "list"]}
NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}


def request(verb: str, resource: str, *, version: str = "v1", code: int = 200) -> ApiRequest:
    made = api_request(verb, "", resource=resource)
    return dataclasses.replace(made, version=version, code=code, group="resource.k8s.io")


def stream(*reports: tuple[float, str], service: str = V1, lease_s: int = 30) -> Stream:
    def entry(number: int, at: float, device: str) -> Entry[HealthReport]:
        told = {
            "pool_name": "p", "device_name": device, "health_check_timeout_seconds": lease_s,
        }  # fmt: skip
        event = HealthReport(instance="a", driver="d", service=service, devices=(told,))
        return Entry(serial=number, at=at, event=event, disturbed=False)

    entries = tuple(entry(number, *each) for number, each in enumerate(reports))
    return Stream(instance="a", driver="d", service=service, began=0.0, until=99.0, reports=entries)


def found(
    asked: Sequence[ApiRequest] = (), granted: list[Grant] | None = None, *streams: Stream
) -> Json:
    return {
        "idle": observations.idle(Idleness(10.26, (Write(1.0, 1),), 5.0)),
        "rights": observations.used(asked, granted),
        "health": observations.cadence(streams),
        "apiVersions": observations.requests(asked),
        "kubeletServices": [{"service": "v1.DRAPlugin", "calls": 4}],
    }


def test_pauses_are_those_between_reports_of_one_device_on_one_stream() -> None:
    one = stream((1.0, "a"), (2.0, "b"), (11.0, "a"), (14.0, "b"))
    assert observations.cadence([one, stream((50.0, "a")), stream(service="old")]) == [
        {"service": "old", "reports": 0, "shortestS": None, "longestS": None, "leaseS": None},
        {"service": V1, "reports": 5, "shortestS": 10.0, "longestS": 12.0, "leaseS": 30.0},
    ]


def test_requests_are_counted_by_version_and_those_for_unknown_kinds_told() -> None:
    asked = [
        request("create", "resourceslices", version="v1beta1", code=404),
        *[request("create", "resourceslices")] * 2,
    ]
    assert observations.requests(asked) == [
        {"version": "resource.k8s.io/v1", "requests": 2, "notFound": 0},
        {"version": "resource.k8s.io/v1beta1", "requests": 1, "notFound": 1},
    ]


def test_rights_are_compared_both_ways() -> None:
    asked = [request("create", "resourceslices"), request("list", "resourceslices")]
    seen = observations.used(asked, [Grant(SLICES), Grant(NODES)])
    slices = {"group": "resource.k8s.io", "resource": "resourceslices"}
    assert seen == {
        "granted": True,
        "used": [{**slices, "verbs": ["create", "list"]}],
        "lacking": [{**slices, "verbs": ["list"]}],
        "unused": [UNUSED],
    }
    everybodys = [Grant({**SLICES, "verbs": ["list", "watch"]})]
    seen = observations.used(asked, [Grant(SLICES)], everybodys=everybodys)
    assert (seen["lacking"], seen["unused"]) == ([], [])
    assert observations.used(asked, None)["lacking"] == []


def test_what_several_timelines_show_is_put_together() -> None:
    assert observations.merged([]) == {}
    asked = [request("create", "resourceslices")]
    granted = [Grant(SLICES), Grant(NODES)]
    late = stream((0.0, "a"), (12.0, "a"), lease_s=20)
    both = observations.merged(
        [
            found(asked, granted, stream((0.0, "a"), (9.0, "a"))),
            found([request("list", "resourceslices")], granted, late),
        ]
    )
    assert both["idle"] == {"seconds": 20.6, "writes": 2}
    assert both["kubeletServices"] == [{"service": "v1.DRAPlugin", "calls": 8}]
    assert both["health"] == [
        {"service": V1, "reports": 4, "shortestS": 9.0, "longestS": 12.0, "leaseS": 20.0}
    ]
    assert both["rights"]["unused"] == [UNUSED]
    assert [rule["verbs"] for rule in both["rights"]["used"]] == [["create", "list"]]
    assert [each["requests"] for each in both["apiVersions"]] == [2]


def test_health_of_no_device_has_no_lease() -> None:
    empty = HealthReport(instance="a", driver="d", service=V1, devices=())
    entry = Entry(serial=0, at=1.0, event=empty, disturbed=False)
    one = observations.merged([found([], None, dataclasses.replace(stream(), reports=(entry,)))])
    assert f"observed: health by {V1}, no report with a device (1)" in list(observations.lines(one))


def test_the_terminal_tells_it_in_few_lines() -> None:
    assert list(observations.lines({})) == []
    asked = [request("list", "resourceslices", version="v1beta1", code=404)]
    one = observations.merged([found(asked, [Grant(NODES)], stream((0.0, "a"), (9.0, "a")))])
    assert list(observations.lines(one)) == [
        "observed: 10 s idle, 1 slice writes in them",
        "observed: requests of the API: resource.k8s.io/v1beta1 (1, 1 for a kind that is not "
        "served)",
        "observed: calls of the kubelet: v1.DRAPlugin (4)",
        f"observed: health by {V1}, every 9 to 9 s, lease 30 s",
        "observed: used and not granted: list of resourceslices",
    ]


def test_a_stream_whose_reports_have_no_device_has_no_lease_to_tell() -> None:
    event = HealthReport(instance="a", driver="d", service=V1, devices=())
    report = Entry(serial=1, at=1.0, event=event, disturbed=False)
    told = observations.merged([found((), None, dataclasses.replace(stream(), reports=(report,)))])
    assert f"observed: health by {V1}, no report with a device (1)" in observations.lines(told)
