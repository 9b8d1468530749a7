"""Misbehaviour on request, through the Cluster protocol."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_dra.clusters.embedded import ADMIN
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.protocol import Trouble
from pytest_dra.embedded.trouble import EVERYTHING
from pytest_dra.embedded.trouble import Scope
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import slice_

BETA = SLICES.replace("/v1/", "/v1beta1/")
TAINT = {"key": "gpu.example.com/broken", "effect": "NoSchedule"}
CREATES = Scope(verbs=("create",), resource="resourceslices")
LIST_FIRST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


@pytest.fixture
def cluster(tmp_path: Path, timeline: Timeline) -> Iterator[EmbeddedCluster]:
    """A running embedded cluster."""
    cluster = EmbeddedCluster(tmp_path, kubernetes="1.37", timeline=timeline)
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture
def trouble(cluster: EmbeddedCluster) -> Trouble:
    """Its misbehaviour."""
    return cluster.trouble()


def _client(cluster: EmbeddedCluster) -> Client:
    text = cluster.admin_kubeconfig().read_text()
    return Client(cluster.url, text.split("token:")[1].split()[0].strip("\"'"))


@pytest.fixture
def client(cluster: EmbeddedCluster) -> Client:
    """An administrator, by plain HTTP."""
    return _client(cluster)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (403, "Forbidden"),
        (409, "Conflict"),
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ],
)
def test_a_refused_request_changes_nothing_and_is_recorded_with_its_body(
    client: Client, trouble: Trouble, timeline: Timeline, code: int, reason: str
) -> None:
    with timeline.disturbance("refusals"), trouble.refuse(CREATES, code, times=1) as caused:
        answer = client.post(SLICES, slice_())
    assert (answer.code, answer.json["reason"], caused.requests) == (code, reason, 1)
    assert client.get(SLICES).json["items"] == []
    entry = timeline.entries(ApiRequest, where=lambda found: found.verb == "create")[0]
    assert (entry.event.code, entry.disturbed) == (code, True)
    assert entry.event.body == slice_()


def test_retry_after_is_a_header_and_part_of_the_status(client: Client, trouble: Trouble) -> None:
    with trouble.refuse(CREATES, 429, retry_after_s=2):
        answer = client.post(SLICES, slice_())
    assert answer.headers["retry-after"] == "2"
    assert answer.json["details"]["retryAfterSeconds"] == 2


def test_only_so_many_requests_are_refused(client: Client, trouble: Trouble) -> None:
    with trouble.refuse(CREATES, 500, times=2) as caused:
        codes = [client.post(SLICES, slice_(f"s{number}")).code for number in range(3)]
    assert (codes, caused.requests) == ([500, 500, 201], 2)


@pytest.mark.parametrize(
    "scope",
    [
        Scope(identity="somebody"),
        Scope(verbs=("update", "watch")),
        Scope(resource="resourceclaims"),
        Scope(verbs=("get",), name="other"),
    ],
)
def test_requests_outside_the_scope_are_answered_as_ever(
    client: Client, trouble: Trouble, scope: Scope
) -> None:
    with trouble.refuse(scope, 503) as caused:
        assert client.post(SLICES, slice_()).code == 201
        assert client.get(f"{SLICES}/s").code == 200
    assert caused.requests == 0


@pytest.mark.parametrize("verb", ["get", "list", "update", "patch", "delete", "watch"])
def test_one_verb_alone_is_unavailable(client: Client, trouble: Trouble, verb: str) -> None:
    made = client.post(SLICES, slice_()).json
    with trouble.refuse(Scope(verbs=(verb,)), 503) as caused:
        codes = {
            "get": client.get(f"{SLICES}/s").code,
            "list": client.get(SLICES).code,
            "update": client.put(f"{SLICES}/s", made).code,
            "patch": client.patch(f"{SLICES}/s", {}).code,
            "watch": client.get(SLICES, watch="true", timeoutSeconds="1").code,
            "delete": client.delete(f"{SLICES}/s").code,
        }
    assert {name for name, code in codes.items() if code == 503} == {verb}
    assert {code for code in codes.values() if code != 503} == {200}
    assert caused.requests == 1


def test_a_request_that_timed_out_was_carried_out(client: Client, trouble: Trouble) -> None:
    with trouble.time_out(CREATES, times=1) as caused:
        answer = client.post(SLICES, slice_())
    assert (answer.code, answer.json["reason"], caused.requests) == (504, "Timeout", 1)
    assert client.get(f"{SLICES}/s").code == 200
    assert client.post(SLICES, slice_()).json["reason"] == "AlreadyExists"


def test_a_short_history_expires_what_lies_further_back(client: Client, trouble: Trouble) -> None:
    versions = [
        client.post(SLICES, slice_(f"s{number}")).json["metadata"]["resourceVersion"]
        for number in range(4)
    ]
    with trouble.short_history(2):
        with client.watch(SLICES, resourceVersion=versions[1]) as events:
            assert next(events)["object"]["metadata"]["name"] == "s2"
        with client.watch(SLICES, resourceVersion=versions[0]) as events:
            assert next(events)["object"]["code"] == 410
        client.post(SLICES, slice_("s4"))
        with client.watch(SLICES, resourceVersion=versions[1]) as events:
            assert next(events)["object"]["code"] == 410
    client.post(SLICES, slice_("s5"))
    client.post(SLICES, slice_("s6"))
    with client.watch(SLICES, resourceVersion=versions[2]) as events:
        assert next(events)["object"]["metadata"]["name"] == "s3"


def test_refusals_end_with_their_context(client: Client, trouble: Trouble) -> None:
    with trouble.refuse(Scope(identity=ADMIN), 503):
        assert client.get(SLICES).code == 503
        assert client.get("/apis").code == 503
    assert client.get(SLICES).code == 200


def test_a_delayed_request_is_carried_out_late(client: Client, trouble: Trouble) -> None:
    with trouble.delay(CREATES, 0.2, times=1):
        began = time.monotonic()
        assert client.post(SLICES, slice_()).code == 201
    assert time.monotonic() - began >= 0.2


def test_a_held_request_is_carried_out_at_the_end_of_the_context(
    client: Client, trouble: Trouble
) -> None:
    with ThreadPoolExecutor(1) as pool:
        with trouble.hold(CREATES, times=1) as caused:
            held = pool.submit(client.post, SLICES, slice_())
            assert poll(lambda: caused.requests == 1, Deadline.after(5.0))
            assert client.get(SLICES).json["items"] == []
            assert not held.done()
        assert held.result(timeout=5.0).code == 201


def test_a_late_answer_comes_after_the_deed(client: Client, trouble: Trouble) -> None:
    with client.watch(SLICES) as events, trouble.delay_answers(CREATES, 0.2):
        began = time.monotonic()
        assert client.post(SLICES, slice_()).code == 201
        assert time.monotonic() - began >= 0.2
        assert next(events)["object"]["metadata"]["name"] == "s"


def test_a_lost_answer_leaves_the_object(
    client: Client, trouble: Trouble, timeline: Timeline
) -> None:
    with trouble.lose_answers(CREATES), pytest.raises((ConnectionError, http.client.HTTPException)):
        client.post(SLICES, slice_())
    assert client.get(f"{SLICES}/s").code == 200
    assert "lost" in timeline.entries(Mark)[0].event.text


def test_dropped_watches_end_without_the_end_of_their_stream(
    client: Client, trouble: Trouble
) -> None:
    client.post(SLICES, slice_())
    with client.watch(SLICES) as events:
        next(events)
        assert trouble.drop_watches(Scope(resource="resourceclaims")) == 0
        assert trouble.drop_watches(Scope(resource="resourceslices")) == 1
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            list(events)


def test_watches_end_in_order_where_that_is_wanted(client: Client, trouble: Trouble) -> None:
    with client.watch(SLICES) as events:
        assert trouble.drop_watches(in_order=True) == 1
        assert list(events) == []
    with trouble.end_watches_after(EVERYTHING, 0.05), client.watch(SLICES) as events:
        assert list(events) == []


def test_a_stalled_watch_says_later_what_it_kept_back(client: Client, trouble: Trouble) -> None:
    with client.watch(SLICES) as events:
        with trouble.stall_watches():
            client.post(SLICES, slice_("first"))
            client.delete(f"{SLICES}/first")
        assert [next(events)["type"] for _ in range(2)] == ["ADDED", "DELETED"]


def test_a_watch_refused_with_410_begins_and_says_so(client: Client, trouble: Trouble) -> None:
    with (
        trouble.refuse(Scope(verbs=("watch",)), 410, times=1),
        client.watch(SLICES) as events,
    ):
        found = list(events)
    assert [event["type"] for event in found] == ["ERROR"]
    assert found[0]["object"]["reason"] == "Expired"


def test_without_watch_list_a_client_has_to_list(client: Client, trouble: Trouble) -> None:
    with trouble.without_watch_list():
        answer = client.get(SLICES, watch="true", **LIST_FIRST)
        assert (answer.code, answer.causes) == (422, {("sendInitialEvents", "Forbidden")})
        with client.watch(SLICES, timeoutSeconds="1") as events:
            client.post(SLICES, slice_())
            assert next(events)["type"] == "ADDED"
    with client.watch(SLICES, **LIST_FIRST) as events:
        assert next(events)["type"] == "ADDED"


def test_no_version_is_resumed_from_a_forgotten_history(client: Client, trouble: Trouble) -> None:
    version = client.post(SLICES, slice_()).json["metadata"]["resourceVersion"]
    trouble.forget_history("resourceslices")
    with client.watch(SLICES, resourceVersion=version) as events:
        assert next(events)["object"]["code"] == 410
    assert client.get(SLICES, resourceVersion=version, resourceVersionMatch="Exact").code == 410
    listed = client.get(SLICES).json["metadata"]["resourceVersion"]
    with client.watch(SLICES, resourceVersion=listed) as events:
        client.delete(f"{SLICES}/s")
        assert next(events)["type"] == "DELETED"


def test_an_unreachable_server_comes_back_with_all_it_had(
    client: Client, trouble: Trouble, cluster: EmbeddedCluster
) -> None:
    uid = client.post(SLICES, slice_()).json["metadata"]["uid"]
    url = cluster.url
    with client.watch(SLICES) as events:
        next(events)
        for _ in range(3):
            with trouble.unreachable(), pytest.raises(ConnectionRefusedError):
                client.get("/readyz")
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            list(events)
    assert cluster.url == url
    assert client.get(f"{SLICES}/s").json["metadata"]["uid"] == uid


def test_a_server_that_lost_its_objects_comes_back_empty_with_newer_versions(
    client: Client, trouble: Trouble
) -> None:
    version = client.post(SLICES, slice_()).json["metadata"]["resourceVersion"]
    with trouble.unreachable(loses_objects=True):
        pass
    listed = client.get(SLICES).json
    assert listed["items"] == []
    assert int(listed["metadata"]["resourceVersion"]) > int(version)
    assert client.get("/api/v1/namespaces/default").code == 200
    with client.watch(SLICES, resourceVersion=version) as events:
        assert next(events)["object"]["code"] == 410
    assert client.post(SLICES, slice_()).code == 201


def test_stale_lists_show_what_was_there_before(client: Client, trouble: Trouble) -> None:
    client.post(SLICES, slice_("old"))

    def names(**query: str) -> list[str]:
        found = client.get(SLICES, **query).json["items"]
        return [item["metadata"]["name"] for item in found]

    with trouble.stale_lists() as caused:
        client.post(SLICES, slice_("new"))
        client.delete(f"{SLICES}/old")
        assert names(resourceVersion="0", limit="1") == ["old"]
        assert names() == ["new"]
    assert names(resourceVersion="0") == ["new"]
    assert caused.requests == 2


def test_it_stops_while_it_is_unreachable(trouble: Trouble, cluster: EmbeddedCluster) -> None:
    with trouble.unreachable():
        cluster.stop()


def _tainted(name: str) -> Json:
    return slice_(name, devices=[{"name": "gpu-0", "taints": [TAINT]}])


def test_gates_are_flipped_while_it_runs(client: Client, trouble: Trouble) -> None:
    with trouble.gates({"DRADeviceTaints": False}):
        made = client.post(SLICES, _tainted("without")).json
        assert "taints" not in made["spec"]["devices"][0]
    made = client.post(SLICES, _tainted("with")).json
    assert made["spec"]["devices"][0]["taints"][0]["key"] == TAINT["key"]


def test_an_unknown_gate_is_refused(trouble: Trouble) -> None:
    with pytest.raises(ValueError, match="NoSuchGate"), trouble.gates({"NoSuchGate": True}):
        pass


def test_only_the_wanted_versions_are_served(client: Client, trouble: Trouble) -> None:
    client.post(SLICES, slice_(devices=[{"name": "gpu-0", "attributes": {"a": {"int": 1}}}]))
    with trouble.serving("v1beta1"):
        assert client.get(SLICES).code == 404
        listed = client.get("/apis/resource.k8s.io").json["versions"]
        assert [found["version"] for found in listed] == ["v1beta1"]
        found = client.get(f"{BETA}/s").json
        assert found["apiVersion"] == "resource.k8s.io/v1beta1"
        assert found["spec"]["devices"] == [
            {"name": "gpu-0", "basic": {"attributes": {"a": {"int": 1}}}}
        ]
    assert client.get(BETA).code == 404
    assert client.get(f"{SLICES}/s").code == 200


def test_an_unknown_version_cannot_be_served(trouble: Trouble) -> None:
    with pytest.raises(ValueError, match="v1beta1"), trouble.serving("v2"):
        pass


def test_two_rules_add_up(client: Client, trouble: Trouble) -> None:
    with (
        trouble.refuse(CREATES, 503, times=1) as first,
        trouble.refuse(CREATES, 409, times=1) as second,
        trouble.delay(CREATES, 0.05) as third,
    ):
        codes = [client.post(SLICES, slice_()).code for _ in range(2)]
    assert codes == [503, 201]
    assert (first.requests, second.requests, third.requests) == (1, 1, 2)
