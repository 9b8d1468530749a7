"""How fast is the embedded API server? ``python -m tests.bench.apiserver [--slices N]``.

Measured over plain HTTP and over HTTPS, and beside it, where ``KUBEBUILDER_ASSETS`` names the
programs, the real kube-apiserver with etcd: in the same run, with the same client. Each server has
processes of its own, and so has the client, which shares the machine's cores with it. Since others
may use them, too, the CPU time of each answer stands beside the rate: it depends less on them.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
from contextlib import contextmanager
from typing import Final

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters.binaries import BinariesError
from pytest_dra.clusters.binaries import find_binaries
from pytest_dra.clusters.controlplane import ControlPlane
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.spec import Json
from tests.bench import apiclient
from tests.bench.apiclient import Target
from tests.bench.apiprocess import TOKEN

CONNECTIONS: Final = 16
"""Keep-alive connections, one request in flight on each."""

ROUNDS: Final = 3
"""Repetitions, of which the best and the median are printed."""

ROUND_S: Final = 2.0
"""Length of one round."""

DEVICES: Final = 16
"""Devices per slice."""

SLICES: Final = 10_000

PEER_SLICES: Final = 1_000
"""As many on the real server, which takes minutes and gigabytes for the others: what it needs to
list and to look through them is multiplied for the ratio."""

WATCHERS: Final = 100
EVENTS: Final = 60
STARTS: Final = 5

LIMIT_S: Final = 120.0
"""Longest start or end of a process."""

PATH: Final = "/apis/resource.k8s.io/v1/resourceslices"
NOBODY: Final = "?fieldSelector=spec.nodeName%3Dnobody"

_COLD_START: Final = """
import time
import urllib.request
from pytest_dra.embedded import ApiServer
from pytest_dra.timeline import Timeline
began = time.perf_counter()
server = ApiServer(timeline=Timeline(), tokens={})
server.start()
urllib.request.urlopen(server.url + "/readyz").read()
sys_out = __import__("sys").stdout
sys_out.write(f"{time.perf_counter() - began:.3f}")
server.stop()
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    """What a figure should be; ``most`` if less of it is better."""

    name: str
    unit: str
    value: float
    most: bool = False
    digits: int = 0


READY: Final = Goal("call to first answer", "s", 0.6, most=True, digits=2)
GET: Final = Goal("GET of one slice", "1/s", 4000)
CREATE: Final = Goal(f"create of {DEVICES}-device slices", "1/s", 1000)
FAN_OUT: Final = Goal(f"create to {WATCHERS} watchers, p99", "ms", 60, most=True)
LIST: Final = Goal("LIST of all slices", "s", 1.0, most=True, digits=2)
NO_MATCH: Final = Goal("field selector without a match", "ms", 30, most=True, digits=1)
MEMORY: Final = Goal("memory with all slices", "MB", 120, most=True)


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A figure: its best and median value, and what else there is to say."""

    best: float
    median: float
    more: str = ""
    cpu_us: float = 0.0
    """CPU time of the server per answer, where that was measured."""

    def times(self, factor: float) -> Found:
        """What so many times the work would take."""
        return Found(self.best * factor, self.median * factor, cpu_us=self.cpu_us * factor)


Figures = dict[str, Found]
"""By the name of its goal."""


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


BODY: Final = json.dumps(slice_body("s"), separators=(",", ":")).encode()


def figures(target: Target, slices: int) -> Iterator[tuple[Goal, Found]]:
    """All figures of a running server, which has no slices before."""
    idle = target.memory_mb()
    create = target.request("POST", PATH, BODY)
    apiclient.elsewhere(apiclient.fill, target, create, b"201", CONNECTIONS, slices)
    listing, no_match = target.request("GET", PATH), target.request("GET", PATH + NOBODY)
    listed, matched = _timed(target, listing, 1.0), _timed(target, no_match, 1e3)
    more = f"{idle:.0f} MB before, {target.memory_mb('VmHWM'):.0f} MB at most"
    yield MEMORY, Found(target.memory_mb(), target.memory_mb(), more)
    yield LIST, listed
    yield NO_MATCH, matched
    # on top of them: a real server takes minutes to delete so many
    yield CREATE, _rates(target, create, b"201")
    name = apiclient.first(target, f"{PATH}?limit=1")["items"][0]["metadata"]["name"]
    yield GET, _rates(target, target.request("GET", f"{PATH}/{name}"), b"200")
    yield FAN_OUT, _fan_out(target, create)


def _rates(target: Target, request: bytes, want: bytes) -> Found:
    rounds = [
        apiclient.elsewhere(apiclient.rate, target, request, want, CONNECTIONS, ROUND_S)
        for _ in range(ROUNDS)
    ]
    rates = [each.per_s for each in rounds]
    cpu_us = statistics.median(each.cpu_us for each in rounds)
    used = statistics.median(each.client_cpu_s / each.seconds for each in rounds)
    more = f"{cpu_us:.0f} us of CPU each, client busy {used:.0%}"
    return Found(max(rates), statistics.median(rates), more, cpu_us)


def _fan_out(target: Target, create: bytes) -> Found:
    found, middles = [], []
    for _ in range(ROUNDS):
        version = apiclient.first(target, f"{PATH}?limit=1")["metadata"]["resourceVersion"]
        watch = target.request("GET", f"{PATH}?watch=true&resourceVersion={version}")
        arguments = (target, watch, create, WATCHERS, EVENTS)
        spans = sorted(apiclient.elsewhere(apiclient.fan_out, *arguments))
        found.append(spans[len(spans) * 99 // 100] * 1e3)
        middles.append(statistics.median(spans) * 1e3)
    more = f"p50 {statistics.median(middles):.1f} ms"
    return Found(min(found), statistics.median(found), more)


def _timed(target: Target, request: bytes, scale: float) -> Found:
    cpu_s = target.cpu_s()
    rounds = apiclient.elsewhere(apiclient.timed, target, request, STARTS)
    spans = [seconds * scale for seconds, _ in rounds]
    each_ms = (target.cpu_s() - cpu_s) / STARTS * 1e3
    more = f"{each_ms:.0f} ms of CPU each, {rounds[0][1] / 1e6:.1f} MB"
    return Found(min(spans), statistics.median(spans), more, each_ms * 1e3)


@contextmanager
def embedded(*, secure: bool) -> Iterator[Target]:
    """The embedded server in a process of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="dra-bench-") as directory,
        subprocess.Popen(
            [sys.executable, "-m", "tests.bench.apiprocess", directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        shown = json.loads(process.stdout.readline())
        url = shown["secure" if secure else "url"]
        yield Target(
            name="embedded, HTTPS" if secure else "embedded, HTTP",
            port=urllib.parse.urlsplit(url).port or 0,
            token=TOKEN,
            authority=shown["authority"] if secure else "",
            pids=(process.pid,),
        )
        process.stdin.close()
        process.wait(LIMIT_S)


@contextmanager
def real() -> Iterator[tuple[Target, float]]:
    """The real one, and the seconds of its start.

    Raises:
        BinariesError: it is not on this machine.
    """
    found = find_binaries()
    version = kubernetes_version(f"1.{found.minor}")
    plane = ControlPlane(found, version=version, gates={}, user="bench")
    began = time.perf_counter()
    plane.start()
    took = time.perf_counter() - began
    try:
        yield (
            Target(
                name=f"kube-apiserver {found.version}, HTTPS",
                port=urllib.parse.urlsplit(plane.url).port or 0,
                token=plane.token,
                authority=str(plane.directory / "certs" / "apiserver.crt"),
                pids=plane.pids,
            ),
            took,
        )
    finally:
        plane.stop()


def _starts() -> Found:
    found = [float(_python(_COLD_START)) for _ in range(1 + STARTS)][1:]
    return Found(min(found), statistics.median(found))


def _python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    return done.stdout


def _line(goal: Goal, found: Found, peer: Found | None, *, judged: bool = True) -> str:
    value = f"{found.median:10.{goal.digits}f} {found.best:10.{goal.digits}f} {goal.unit:4}"
    ratio = verdict = ""
    if peer is not None:
        times = peer.median / found.median if goal.most else found.median / peer.median
        ratio = f"{times:6.1f}x"
        if peer.cpu_us and found.cpu_us:
            ratio += f", CPU {peer.cpu_us / found.cpu_us:4.1f}x"
    if judged:
        met = found.median <= goal.value if goal.most else found.median >= goal.value
        verdict = f"{'<=' if goal.most else '>='} {goal.value:g}: {'met' if met else 'MISSED'}"
    return f"  {goal.name:34} {value} {ratio:18}  {verdict:16} {found.more}\n"


def _measured(
    target: Target, slices: int, write: Callable[[str], object], peers: Figures | None
) -> Figures:
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    write(f"{target.name} (load {load}){'':10} median       best\n")
    found: Figures = {}
    for goal, figure in figures(target, slices):
        found[goal.name] = figure
        peer = None if peers is None else peers.get(goal.name)
        write(_line(goal, figure, peer, judged=peers is not None))
        sys.stdout.flush()
    return found


def main(arguments: Sequence[str] = ()) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tests.bench.apiserver")
    parser.add_argument("--slices", type=int, default=SLICES, help="how many are listed")
    slices: int = parser.parse_args(arguments).slices
    write = sys.stdout.write
    write(
        f"{slices} slices of {DEVICES} devices, {CONNECTIONS} connections, "
        f"{ROUNDS} rounds of {ROUND_S:g} s; ratios to the real server of this run\n"
    )
    peers: Figures = {}
    fewer = min(slices, PEER_SLICES)
    try:
        with real() as (target, took):
            write(f"with {fewer} slices: ")
            peers = _measured(target, fewer, write, None)
            peers[READY.name] = Found(took, took)
            write(_line(READY, peers[READY.name], None, judged=False))
    except _FAILURES as error:
        write(f"no kube-apiserver to compare with: {error!r:.400}\n")
    for goal in (LIST, NO_MATCH):
        if goal.name in peers:
            peers[goal.name] = peers[goal.name].times(slices / fewer)
    write("embedded, the start\n" + _line(READY, _starts(), peers.get(READY.name)))
    for secure in (False, True):
        try:
            with embedded(secure=secure) as target:
                _measured(target, slices, write, peers)
        except _FAILURES as error:
            write(f"not measured: {error!r:.400}\n")
    return 0


_FAILURES: Final = (
    BinariesError,
    ClusterError,
    OSError,
    RuntimeError,
    ValueError,
    asyncio.TimeoutError,
    futures.TimeoutError,
)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
