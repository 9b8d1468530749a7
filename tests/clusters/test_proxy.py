"""The recording proxy, with the embedded server behind it: what goes through, and what is kept."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters.proxy import RecordingProxy
from pytest_dra.clusters.recording import Recorder
from pytest_dra.clusters.recording import asked
from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.embedded.access import Tokens
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until
from tests.embedded.client import PROTOBUF
from tests.embedded.client import SLICES
from tests.embedded.client import Client

CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
DRIVER = "system:serviceaccount:dra-driver:one"
WITHIN_S = 10.0


@pytest.fixture
def inside() -> Timeline:
    """What the server itself sees."""
    return Timeline()


@pytest.fixture
def behind(inside: Timeline) -> Iterator[ApiServer]:
    """The server, which knows one administrator."""
    made = ApiServer(timeline=inside, tokens={"up": User("suite", ("system:masters",))})
    made.start()
    yield made
    made.stop()


@pytest.fixture
def seen() -> Timeline:
    return Timeline()


@pytest.fixture
def proxy(behind: ApiServer, seen: Timeline) -> Iterator[RecordingProxy]:
    made = RecordingProxy(
        behind.url,
        trust=ssl.create_default_context(),
        token="up",
        admin="suite",
        tokens=Tokens({"a": User("suite"), "d": User(DRIVER, ("g",), {"x/y": ("v",)})}),
        recorder=Recorder(kubernetes_version()),
        timeline=seen,
        limited=lambda _: False,
    )
    made.start()
    yield made
    made.stop()
    made.stop()


def requests(line: Timeline) -> list[ApiRequest]:
    return [each.event for each in line.entries(ApiRequest)]


def identities(line: Timeline) -> list[str]:
    return [each.identity for each in requests(line)]


def test_each_request_has_the_identity_of_its_token(
    proxy: RecordingProxy, inside: Timeline, seen: Timeline
) -> None:
    for token in ("a", "d"):
        assert Client(proxy.url, token).send("GET", SLICES).code == 200
        assert Client(proxy.url, "").send("GET", f"/as/{token}{SLICES}?limit=5").code == 200
    wanted = ["suite", "suite", DRIVER, DRIVER]
    assert identities(seen) == identities(inside) == wanted
    assert [each.query for each in requests(seen)] == ["", "limit=5", "", "limit=5"]


def test_nobody_acts_as_somebody_else(proxy: RecordingProxy, inside: Timeline) -> None:
    headers = {"Impersonate-User": "root", "Impersonate-Group": "system:masters"}
    assert Client(proxy.url, "d").send("GET", SLICES, headers=headers).code == 200
    assert identities(inside) == [DRIVER]


def test_a_body_is_kept_as_it_was_sent_and_the_answer_as_it_was_given(
    proxy: RecordingProxy, seen: Timeline
) -> None:
    sent = {"metadata": {"name": "c"}, "spec": {"unknown": 1}}
    answer = Client(proxy.url, "d").send("POST", CLASSES, sent)
    assert answer.code == 201
    (entry,) = requests(seen)
    assert (entry.verb, entry.resource, entry.code) == ("create", "deviceclasses", 201)
    assert (entry.body, entry.answer) == (sent, answer.json)


def test_protobuf_is_read(proxy: RecordingProxy, seen: Timeline) -> None:
    api = b"\n\x12resource.k8s.io/v1\x12\x0bDeviceClass"
    obj = b"\n\x07\n\x05proto\x12\x00"
    body = b"k8s\0\n" + bytes([len(api)]) + api + b"\x12" + bytes([len(obj)]) + obj
    headers = {"Content-Type": PROTOBUF, "Accept": f"{PROTOBUF},application/json"}
    assert Client(proxy.url, "d").send("POST", CLASSES, body, headers).code == 201
    (entry,) = requests(seen)
    assert entry.body is not None
    assert entry.body["metadata"]["name"] == "proto"
    assert entry.answer is not None


def test_a_body_that_nobody_can_read_goes_through(proxy: RecordingProxy, seen: Timeline) -> None:
    answer = Client(proxy.url, "d").send("POST", CLASSES, b"{")
    assert answer.code == 400
    (entry,) = requests(seen)
    assert (entry.code, entry.body) == (400, None)


def test_a_watch_is_passed_on_event_by_event(
    proxy: RecordingProxy, behind: ApiServer, seen: Timeline
) -> None:
    with Client(proxy.url, "d").watch(f"{CLASSES}?watch=true") as events:
        Client(behind.url, "up").send("POST", CLASSES, {"metadata": {"name": "c"}, "spec": {}})
        assert next(events)["object"]["metadata"]["name"] == "c"
        assert [each.verb for each in requests(seen)] == ["watch"]


def test_a_server_that_is_gone_looks_gone(
    proxy: RecordingProxy, behind: ApiServer, seen: Timeline
) -> None:
    behind.close_port()
    with pytest.raises(OSError, match="reset"):
        Client(proxy.url, "d").send("GET", SLICES)
    assert until(seen, lambda: seen.entries(Mark), Deadline.after(WITHIN_S))
    assert "no answer of kube-apiserver to this list" in seen.entries(Mark)[0].event.text


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"GET /as/unknown/api/v1/nodes", 401),
        (b"GET @127.0.0.1:1/", 400),
        (b"GET http://127.0.0.1:1/api", 400),
        (b"GET //127.0.0.1:1/api", 404),
    ],
)
def test_no_request_leads_elsewhere(proxy: RecordingProxy, line: bytes, code: int) -> None:
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=WITHIN_S) as link:
        ends = b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer d\r\nConnection: close\r\n\r\n"
        link.sendall(line + (ends if code == 404 else ends.replace(b"Authorization", b"X-No")))
        assert int(link.recv(64).split()[1]) == code


@pytest.mark.parametrize(
    ("method", "target", "verb", "name"),
    [
        ("GET", "/api/v1/nodes/n", "get", "n"),
        ("GET", "/api/v1/nodes?watch=0", "list", ""),
        ("GET", "/api/v1/watch/nodes", "watch", ""),
        ("GET", "/api/v1/nodes?fieldSelector=a&watch", "watch", ""),
        ("DELETE", f"{SLICES}?fieldSelector=spec.nodeName%3Dn", "deletecollection", ""),
        ("PUT", f"{SLICES}/s%2Fstatus", "update", "s"),
        ("PATCH", f"{SLICES}/s/status", "patch", "s"),
        ("GET", "/version", "get", "/version"),
        ("BREW", SLICES, "brew", ""),
        ("GET", "/" + "a/" * 50, "get", "/" + "a/" * 50),
    ],
)
def test_requests_are_taken_apart(method: str, target: str, verb: str, name: str) -> None:
    found = asked(method, target, identity="i", body=b"", headers={})
    assert (found.verb, found.route.name) == (verb, name)
