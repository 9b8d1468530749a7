"""What goes by between a gRPC client and a server is passed on, and written down."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from pytest_dra.wire import DRA_METHODS
from pytest_dra.wire import GET_INFO
from pytest_dra.wire import Method
from tests.realkubelet.frames import PREFACE
from tests.realkubelet.frames import Direction
from tests.realkubelet.proxy import Place
from tests.realkubelet.proxy import Proxy

PREPARE = DRA_METHODS["v1.DRAPlugin"].prepare
WAIT_S = 10.0


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="dra-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


def get_info(_: Any, context: Any) -> Any:
    return GET_INFO.response(type="DRAPlugin", name="d.example.com", endpoint="/p/dra.sock")


def prepare(request: Any, context: Any) -> Any:
    (claim,) = request.claims
    if claim.name == "broken":
        context.abort(grpc.StatusCode.INTERNAL, "the moon is full")
    if claim.name == "slow":
        gone = threading.Event()
        context.add_callback(gone.set)
        gone.wait(WAIT_S)
    answer = PREPARE.response()
    device = answer.claims[claim.uid].devices.add(pool_name="n", device_name="d0")
    device.cdi_device_ids.append("x/y=d0")
    return answer


@pytest.fixture
def driver(folder: Path) -> Iterator[Path]:
    server = grpc.server(ThreadPoolExecutor(4))
    for method, behave in ((GET_INFO, get_info), (PREPARE, prepare)):
        handler = grpc.unary_unary_rpc_method_handler(
            behave,
            request_deserializer=method.request.FromString,
            response_serializer=method.response.SerializeToString,
        )
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(method.service, {method.name: handler})]
        )
    (folder / "theirs").mkdir()
    path = folder / "theirs/d-reg.sock"
    server.add_insecure_port(f"unix:{path}")
    server.start()
    yield path
    server.stop(None).wait(WAIT_S)


def asked(path: Path, method: Method, request: Any, *, timeout_s: float) -> Any:
    # Else gRPC may use one connection for several channels.
    own = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"unix:{path}", options=own) as channel:
        call = channel.unary_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        return call(request, timeout=timeout_s)


def claim(name: str) -> Any:
    request = PREPARE.request()
    request.claims.add(uid="u1", name=name, namespace="ns")
    return request


def without(entry: Json, *names: str) -> Json:
    return {key: value for key, value in entry.items() if key not in names}


def test_calls_and_answers_are_passed_on_and_written_down(folder: Path, driver: Path) -> None:
    seen: list[Json] = []
    mirrored = folder / "kubelets" / driver.name
    place = Place("reg", driver.parent, mirrored.parent)
    with Proxy([place], lambda **entry: seen.append(entry)):
        assert poll(mirrored.exists, Deadline.after(WAIT_S))
        answer = asked(mirrored, GET_INFO, GET_INFO.request(), timeout_s=5)
        assert answer.name == "d.example.com"
        assert asked(mirrored, PREPARE, claim("good"), timeout_s=45).claims["u1"].devices
        with pytest.raises(grpc.RpcError, match="the moon is full"):
            asked(mirrored, PREPARE, claim("broken"), timeout_s=45)
        with pytest.raises(grpc.RpcError, match=r"(?i)deadline"):
            asked(mirrored, PREPARE, claim("slow"), timeout_s=0.3)
        driver.unlink()
        assert poll(lambda: not mirrored.exists(), Deadline.after(WAIT_S))
        poll(lambda: seen[-1].get("do") == "socket file removed", Deadline.after(WAIT_S))
    assert seen[0] == {"do": "socket file appears", "sock": "reg"}
    assert seen[-1] == {"do": "socket file removed", "sock": "reg"}
    of_first = [each for each in seen if each.get("conn") == 1]
    assert [each["ev"] for each in of_first][:3] == ["open", "call", "answer"]
    call, told = of_first[1:3]
    assert (call["method"], round(call["deadline"])) == ("GetInfo", 5)
    assert call["path"] == "/pluginregistration.Registration/GetInfo"
    assert call["headers"]["content-type"] == "application/grpc"
    assert told["info"] == {
        "type": "DRAPlugin",
        "name": "d.example.com",
        "endpoint": "/p/dra.sock",
        "versions": [],
    }
    prepared = [without(each, "headers", "deadline") for each in seen if each.get("conn") == 2]
    about = {"sock": "reg", "conn": 2, "method": "NodePrepareResources"}
    path = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
    asks = [{"uid": "u1", "name": "good", "namespace": "ns"}]
    assert {**about, "ev": "call", "path": path, "claims": asks} in prepared
    device = {"pool": "n", "device": "d0", "cdi": ["x/y=d0"]}
    gives = [{"uid": "u1", "devices": [device]}]
    assert {**about, "ev": "answer", "claims": gives} in prepared
    failed = [each for each in seen if each.get("conn") == 3 and each["ev"] == "answer"]
    assert [(each["code"], each["message"]) for each in failed] == [(13, "the moon is full")]
    late = [(each["ev"], each.get("code")) for each in seen if each.get("conn") == 4]
    # Client and server have the same deadline: either may be the first to act on it.
    assert {("cancelled", None), ("answer", 4)} & set(late)


def test_what_comes_in_pieces_is_put_together() -> None:
    heard = Direction(client=True)
    frame = b"\x00\x00\x06\x00\x01\x00\x00\x00\x01" + b"\x00\x00\x00\x00\x01x"
    data = PREFACE + frame
    seen = [each for n in range(len(data)) for each in heard.take(data[n : n + 1])]
    assert [(each.stream, each.messages, each.ended) for each in seen] == [(1, (b"x",), True)]
    with pytest.raises(ValueError, match="no HTTP/2"):
        list(Direction(client=True).take(b"GET / HTTP/1.1\r\nHost: example.com\r\n"))
