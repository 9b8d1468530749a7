"""Start, stop, identities, recording."""

from __future__ import annotations

import copy
import dataclasses
import stat
import threading
from pathlib import Path

import pytest
import yaml

from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import Attempt
from pytest_dra.embedded import User
from pytest_dra.embedded import write_kubeconfig
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Timeline
from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import claim
from tests.embedded.client import slice_


def test_it_listens_on_loopback_and_is_ready_when_start_returns(server: ApiServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    assert Client(server.url, "").get("/readyz").text == "ok"


def test_two_servers_in_one_process_share_nothing(client: Client) -> None:
    other = ApiServer(timeline=Timeline(), tokens={"admin-token": User("admin")})
    other.start()
    try:
        assert client.post(SLICES, slice_()).code == 201
        assert Client(other.url).get(SLICES).json["items"] == []
    finally:
        other.stop()


def test_stop_ends_open_watches_and_may_be_repeated(server: ApiServer, client: Client) -> None:
    with client.watch(SLICES) as events:
        server.stop()
        assert list(events) == []
    server.stop()
    with pytest.raises(ConnectionError):
        client.get("/readyz")


def test_stop_before_start_does_nothing() -> None:
    ApiServer(timeline=Timeline(), tokens={}).stop()


def test_a_server_starts_only_once(server: ApiServer) -> None:
    with pytest.raises(RuntimeError, match="before"):
        server.start()


def test_stop_leaves_no_thread_behind() -> None:
    server = ApiServer(timeline=Timeline(), tokens={})
    server.start()
    server.stop()
    assert not any(thread.name == "dra-api-server" for thread in threading.enumerate())


def test_a_wrong_token_is_401_and_none_is_403(server: ApiServer) -> None:
    assert Client(server.url, "wrong").get(SLICES).code == 401
    refused = Client(server.url, "").get(SLICES)
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert Client(server.url, "").get("/version").json["minor"] == "37"


def test_a_token_can_be_added_while_the_server_runs(server: ApiServer) -> None:
    server.add_token("late", User("latecomer"))
    assert Client(server.url, "late").get(SLICES).code == 200


def test_the_path_may_carry_the_token(server: ApiServer, timeline: Timeline) -> None:
    anonymous = Client(server.url, "")
    assert anonymous.get(f"/as/driver-token{SLICES}").code == 200
    assert anonymous.get(f"/as/wrong{SLICES}").code == 401
    first = timeline.entries(ApiRequest)[0].event
    assert first.identity == "system:serviceaccount:default:driver"
    assert first.resource == "resourceslices"


def test_an_authorizer_decides(timeline: Timeline) -> None:
    def only_reads(attempt: Attempt) -> bool:
        return attempt.verb in ("get", "list", "watch")

    server = ApiServer(
        timeline=timeline, tokens={"admin-token": User("admin")}, authorize=only_reads
    )
    server.start()
    try:
        client = Client(server.url)
        assert client.get(SLICES).code == 200
        refused = client.post(SLICES, slice_())
        assert refused.code == 403
        assert 'User "admin" cannot create resource "resourceslices"' in refused.json["message"]
    finally:
        server.stop()


def test_a_failure_of_the_server_is_a_status_500(timeline: Timeline) -> None:
    def broken(attempt: Attempt) -> bool:
        raise LookupError("lost")

    server = ApiServer(timeline=timeline, tokens={"admin-token": User("a")}, authorize=broken)
    server.start()
    try:
        answer = Client(server.url).get(SLICES)
        assert (answer.code, answer.json["kind"]) == (500, "Status")
        assert answer.json["reason"] == "InternalError"
    finally:
        server.stop()


def test_a_kubeconfig_is_private_and_names_server_and_token(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, server="http://127.0.0.1:1", token="abc")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == "http://127.0.0.1:1/as/abc"
    assert config["users"][0]["user"]["token"] == "abc"
    write_kubeconfig(path, server="https://127.0.0.1:1", token="abc")
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"


def test_a_token_that_a_url_would_escape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="letters"):
        write_kubeconfig(tmp_path / "k", server="http://127.0.0.1:1", token="a/b")


def test_every_request_is_recorded_with_body_and_answer(client: Client, timeline: Timeline) -> None:
    sent = slice_(devices=[{"name": "gpu-0", "capacity": {"memory": {"value": "1024Mi"}}}])
    client.post(SLICES, sent, fieldManager="me")
    client.get(f"{SLICES}/none")
    with client.watch(SLICES, fieldSelector="spec.driver=x"):
        pass
    made, missed, watched = [entry.event for entry in timeline.entries(ApiRequest)]
    assert (made.verb, made.identity, made.code) == ("create", "admin", 201)
    assert made.body == sent
    assert made.answer is not None
    assert made.answer["spec"]["devices"][0]["capacity"]["memory"]["value"] == "1Gi"
    assert made.query == "fieldManager=me"
    assert (missed.verb, missed.name, missed.code) == ("get", "none", 404)
    assert missed.answer is not None
    assert missed.answer["reason"] == "NotFound"
    assert (watched.verb, watched.code, watched.answer) == ("watch", 200, None)


def test_an_unknown_version_or_gate_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.99"):
        ApiServer(timeline=Timeline(), tokens={}, kubernetes="1.99")
    with pytest.raises(ValueError, match="NoSuchGate"):
        ApiServer(timeline=Timeline(), tokens={}, gates={"NoSuchGate": True})


def test_a_recorded_body_is_the_one_that_was_sent_though_it_is_kept_as_bytes(
    client: Client, timeline: Timeline
) -> None:
    client.post(SLICES, slice_())
    event = timeline.entries(ApiRequest)[-1].event
    assert event.body == slice_()
    assert event.body is event.body
    renamed = dataclasses.replace(event, identity="somebody")
    assert (renamed.identity, renamed.body) == ("somebody", slice_())
    assert repr(renamed).startswith("ApiRequest(")
    assert dataclasses.asdict(renamed)["body"] == slice_()


def test_recorded_claims_can_be_copied_and_written_down(client: Client, timeline: Timeline) -> None:
    body = claim()
    body["spec"]["devices"]["config"] = [
        {"opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}
    ]
    client.post(CLAIMS, body)
    event = timeline.entries(ApiRequest)[-1].event
    copied = dataclasses.asdict(event)
    assert copied["answer"]["spec"]["devices"]["config"] == body["spec"]["devices"]["config"]
    assert copied["body"] == body
    assert copy.deepcopy(event.answer) == event.answer
