"""How fast is the embedded API server? ``python -m tests.bench.apiserver``.

The peer is the real kube-apiserver 1.37.2 with etcd, measured on a machine of the same two cores
(recorded in the specification of the embedded cluster). The server runs in this process, the load
comes from another one over plain keep-alive connections, so that both share the two cores as a
driver and the suite do.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import selectors
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Final

from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline

CONNECTIONS: Final = 16
"""Keep-alive connections, one request in flight on each; as in the recorded measurements."""

ROUNDS: Final = 5
"""Repetitions, of which minimum, median and maximum are printed."""

ROUND_S: Final = 2.0
"""Length of one round."""

DEVICES: Final = 16
"""Devices per slice."""

_TOKEN: Final = "bench"
_TIMEOUT_S: Final = 30.0
_SLICES: Final = "/apis/resource.k8s.io/v1/resourceslices"
_CHUNK: Final = 1 << 16

_COLD_START: Final = """
import time
began = time.perf_counter()
import urllib.request
from pytest_dra.embedded import ApiServer
from pytest_dra.timeline import Timeline
server = ApiServer(timeline=Timeline(), tokens={})
server.start()
urllib.request.urlopen(server.url + "/readyz").read()
sys_out = __import__("sys").stdout
sys_out.write(f"{time.perf_counter() - began:.3f}")
server.stop()
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure: ``peer`` is the best recorded value of the real server."""

    name: str
    unit: str
    target: float
    peer: float
    less_is_better: bool = False

    def line(self, values: list[float]) -> str:
        """Minimum, median, maximum; ratio to the peer; whether the target is met."""
        middle = statistics.median(values)
        ratio = self.peer / middle if self.less_is_better else middle / self.peer
        met = middle <= self.target if self.less_is_better else middle >= self.target
        digits = 3 if self.less_is_better else 0
        low, mid, high = (f"{value:.{digits}f}" for value in (min(values), middle, max(values)))
        sign = "<=" if self.less_is_better else ">="
        return (
            f"{self.name:34} {low:>8} {mid:>8} {high:>8} {self.unit:5} "
            f"{ratio:5.1f}x kube-apiserver ({self.peer:g})  "
            f"target {sign} {self.target:g}: {'met' if met else 'MISSED'}"
        )


READY: Final = Figure("cold start to /readyz", "s", 1.0, 2.6, less_is_better=True)
GET: Final = Figure("GET of one slice", "1/s", 4000, 930)
CREATE: Final = Figure(f"create of {DEVICES}-device slices", "1/s", 1000, 340)
LIST: Final = Figure("LIST of 1,000 such slices", "s", 0.060, 0.060, less_is_better=True)
PURGE: Final = Figure("deletecollection of 1,000", "s", 1.5, 1.5, less_is_better=True)


def slice_body(index: str) -> Json:
    """A slice as a driver of 16 GPUs would publish it."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"generateName": f"{index}-bench-"},
        "spec": {
            "driver": "bench.example.com",
            "nodeName": "node-a",
            "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"gpu-{number}",
                    "attributes": {
                        "model": {"string": "T1000"},
                        "index": {"int": number},
                        "driverVersion": {"version": "1.2.3"},
                        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
                    },
                    "capacity": {"memory": {"value": "16Gi"}, "cores": {"value": "128"}},
                }
                for number in range(DEVICES)
            ],
        },
    }


def _request(method: str, path: str, body: bytes = b"") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: bench",
        f"Authorization: Bearer {_TOKEN}",
        "Accept: application/json",
    ]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _complete(answer: bytes) -> bool:
    head, gap, body = answer.partition(b"\r\n\r\n")
    if not gap:
        return False
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return len(body) >= int(length)


def load(port: int, request: bytes, want: bytes, seconds: float) -> float:
    """Send ``request`` again and again on all connections; answers per second."""
    chooser = selectors.DefaultSelector()
    for _ in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request)
        chooser.register(connection, selectors.EVENT_READ, bytearray())
    began = time.perf_counter()
    end, count = began + seconds, 0
    while time.perf_counter() < end:
        for key, _ in chooser.select(timeout=1.0):
            buffer: bytearray = key.data
            link = key.fileobj
            assert isinstance(link, socket.socket)
            buffer += link.recv(_CHUNK)
            if _complete(bytes(buffer)):
                if not buffer.startswith(b"HTTP/1.1 " + want):
                    raise RuntimeError(bytes(buffer[:400]).decode())
                buffer.clear()
                count += 1
                link.sendall(request)
    took = time.perf_counter() - began
    for key in list(chooser.get_map().values()):
        assert isinstance(key.fileobj, socket.socket)
        key.fileobj.close()
    return count / took


def _in_other_process(port: int, request: bytes, want: bytes) -> list[float]:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        arguments = (port, request, want, ROUND_S)
        return [pool.apply_async(load, arguments).get(timeout=_TIMEOUT_S) for _ in range(ROUNDS)]


def _send(server: ApiServer, method: str, path: str, body: Json | None = None) -> bytes:
    request = urllib.request.Request(  # noqa: S310  our own loopback server
        server.url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310  the same
        found: bytes = answer.read()
        return found


def _server() -> ApiServer:
    server = ApiServer(timeline=Timeline(), tokens={_TOKEN: User("bench")})
    server.start()
    return server


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _cold_start() -> float:
    done = subprocess.run(
        [sys.executable, "-c", _COLD_START],
        check=True,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
    )
    return float(done.stdout)


def _bulk() -> tuple[list[float], list[float]]:
    lists: list[float] = []
    purges: list[float] = []
    server = _server()
    for _ in range(ROUNDS):
        for index in range(1000):
            _send(server, "POST", _SLICES, slice_body(f"{index:05x}"))
        lists.append(_timed(lambda: _send(server, "GET", _SLICES)))
        purges.append(_timed(lambda: _send(server, "DELETE", _SLICES)))
    server.stop()
    return lists, purges


def main() -> None:
    """Measure and print."""
    write = sys.stdout.write
    write(
        f"{ROUNDS} rounds; {CONNECTIONS} keep-alive connections from one other Python process "
        f"(plain sockets, no HTTP library), {ROUND_S:g} s a round\n"
        f"{'':34} {'min':>8} {'median':>8} {'max':>8}\n"
    )
    write(READY.line([_cold_start() for _ in range(ROUNDS)]) + "\n")
    server = _server()
    try:
        port = urllib.parse.urlsplit(server.url).port or 0
        made = json.loads(_send(server, "POST", _SLICES, slice_body("00000")))
        name = made["metadata"]["name"]
        gets = _in_other_process(port, _request("GET", f"{_SLICES}/{name}"), b"200")
        write(GET.line(gets) + "\n")
        body = json.dumps(slice_body("00000"), separators=(",", ":")).encode()
        write(CREATE.line(_in_other_process(port, _request("POST", _SLICES, body), b"201")) + "\n")
    finally:
        server.stop()
    lists, purges = _bulk()
    write(LIST.line(lists) + "\n")
    write(PURGE.line(purges) + "\n")


if __name__ == "__main__":
    main()
