"""The client of the API server's figures: the same code for the embedded and the real one.

Plain HTTP/1.1 on asyncio's protocols, without any library: what it takes itself is a small part of
what a server takes. It runs in a process of its own, and says how much CPU it has used.
"""

from __future__ import annotations

import asyncio
import dataclasses
import http.client
import json
import multiprocessing
import os
import ssl
import time
from collections.abc import Callable
from collections.abc import Coroutine
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from typing import Final
from typing import TypeVar

from pytest_dra.spec import Json

TIMEOUT_S: Final = 120.0
"""Longest single measurement, only to end what hangs."""

GAP_S: Final = 0.02
"""Between two events of the fan-out, so that one does not wait for the other."""

_END_OF_CHUNKS: Final = b"\r\n0\r\n\r\n"

_TICKS: Final = os.sysconf("SC_CLK_TCK")

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server: where it listens, who may ask, and its processes.

    ``authority`` is the file of the certificate to believe in, "" for plain HTTP.
    """

    name: str
    port: int
    token: str
    authority: str
    pids: tuple[int, ...]

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """A whole request, as it goes over the wire."""
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {self.token}",
            "Accept: application/json",
        ]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def trust(self) -> ssl.SSLContext | None:
        """What believes in its certificate; None without TLS."""
        return ssl.create_default_context(cafile=self.authority) if self.authority else None

    def cpu_s(self) -> float:
        """CPU time that its processes have used."""
        used = 0.0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
            used += (int(fields[11]) + int(fields[12])) / _TICKS
        return used

    def memory_mb(self, what: str = "VmRSS") -> float:
        """Resident memory of its processes; ``VmHWM``: at most so far."""
        found = 0
        for pid in self.pids:
            lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
            found += sum(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))
        return found / 1024


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many answers in how long, and the CPU time that both sides took for them."""

    answers: int
    seconds: float
    server_cpu_s: float
    client_cpu_s: float

    @property
    def per_s(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU time of the server per answer."""
        return self.server_cpu_s / self.answers * 1e6


class _Link(asyncio.Protocol):
    """One connection that sends the same request again and again."""

    def __init__(self, request: bytes, want: bytes, wanted: Callable[[], bool]) -> None:
        self._request = request
        self._want = b"HTTP/1.1 " + want
        self._wanted = wanted
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.answers = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._transport is None or not complete(self._buffer):
            return
        if not self._buffer.startswith(self._want):
            self._end(bytes(self._buffer[:400]).decode("utf-8", "replace"))
            return
        self._buffer.clear()
        self.answers += 1
        if self._wanted():
            self._transport.write(self._request)
        else:
            self._end("")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(f"the connection was lost: {exc}")

    def _end(self, why: str) -> None:
        if not self.ended.done():
            self.ended.set_result(why)
        if self._transport is not None:
            self._transport.close()


def complete(answer: bytes | bytearray) -> bool:
    """True if the answer is there as a whole, with a length or in chunks."""
    gap = answer.find(b"\r\n\r\n")
    if gap < 0:
        return False
    head = bytes(answer[:gap]).lower()
    _, found, length = head.partition(b"content-length: ")
    if found:
        return len(answer) - gap - 4 >= int(length.partition(b"\r\n")[0])
    return answer.endswith(_END_OF_CHUNKS)


async def _rate(
    target: Target, request: bytes, want: bytes, links: int, wanted: Callable[[int], bool]
) -> Rate:
    loop = asyncio.get_running_loop()
    made: list[_Link] = []

    def more() -> bool:
        return wanted(sum(each.answers for each in made) + len(made))

    cpu_s, own_s, began = target.cpu_s(), time.process_time(), time.perf_counter()
    for _ in range(links):
        _, link = await loop.create_connection(
            lambda: _Link(request, want, more), "127.0.0.1", target.port, ssl=target.trust()
        )
        made.append(link)
    ends = await asyncio.gather(*(each.ended for each in made))
    took = time.perf_counter() - began
    if any(ends):
        raise RuntimeError(f"{target.name}: {next(filter(None, ends))}")
    return Rate(
        answers=sum(each.answers for each in made),
        seconds=took,
        server_cpu_s=target.cpu_s() - cpu_s,
        client_cpu_s=time.process_time() - own_s,
    )


def rate(target: Target, request: bytes, want: bytes, links: int, seconds: float) -> Rate:
    """Send ``request`` on so many connections, one in flight on each, for some time."""
    end = time.perf_counter() + seconds

    def wanted(_: int) -> bool:
        return time.perf_counter() < end

    return _run(_rate(target, request, want, links, wanted))


def fill(target: Target, request: bytes, want: bytes, links: int, count: int) -> Rate:
    """Send ``request`` so often."""

    def wanted(asked: int) -> bool:
        return asked < count

    return _run(_rate(target, request, want, links, wanted))


def timed(target: Target, request: bytes, times: int) -> list[tuple[float, int]]:
    """Seconds and bytes of the answers to a request that is sent on one connection."""

    async def measure() -> list[tuple[float, int]]:
        reader, writer = await _connect(target)
        found = []
        for _ in range(times):
            began = time.perf_counter()
            writer.write(request)
            size = await _read(reader)
            found.append((time.perf_counter() - began, size))
        writer.close()
        return found

    return _run(measure())


def first(target: Target, path: str) -> Json:
    """The answer to one GET, decoded."""
    trust = target.trust()
    link = (
        http.client.HTTPConnection("127.0.0.1", target.port, timeout=TIMEOUT_S)
        if trust is None
        else http.client.HTTPSConnection("127.0.0.1", target.port, timeout=TIMEOUT_S, context=trust)
    )
    link.request("GET", path, headers={"Authorization": f"Bearer {target.token}"})
    found: Json = json.loads(link.getresponse().read())
    link.close()
    return found


async def _connect(target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(
        "127.0.0.1", target.port, ssl=target.trust(), limit=_BUFFER
    )


_BUFFER: Final = 1 << 22
"""Bytes that are read ahead."""


async def _read(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/1.1 20"):
        raise RuntimeError(head.decode())
    _, found, length = head.partition(b"content-length: ")
    if found:
        left = size = int(length.partition(b"\r\n")[0])
        while left:
            left -= len(await reader.read(min(left, _BUFFER)))
        return size
    size = 0
    while True:
        chunk = int(await reader.readline(), 16)
        left = chunk + 2
        while left:
            left -= len(await reader.read(min(left, _BUFFER)))
        if not chunk:
            return size
        size += chunk


def fan_out(target: Target, watch: bytes, create: bytes, watchers: int, events: int) -> list[float]:
    """Seconds from sending each create to its event at each of so many watchers."""

    async def measure() -> list[float]:
        loop = asyncio.get_running_loop()
        seen: list[float] = []
        links = [
            await loop.create_connection(
                lambda: _Watcher(watch, seen), "127.0.0.1", target.port, ssl=target.trust()
            )
            for _ in range(watchers)
        ]
        watching = [link for _, link in links]
        await asyncio.gather(*(each.opened for each in watching))
        reader, writer = await _connect(target)
        found: list[float] = []
        for _ in range(events):
            await asyncio.sleep(GAP_S)
            seen.clear()
            began = time.perf_counter()
            writer.write(create)
            await _read(reader)
            while len(seen) < watchers:
                await asyncio.sleep(_LOOK_S)
            found += [each - began for each in seen]
        writer.close()
        for transport, _ in links:
            transport.close()
        return found

    return _run(measure())


_LOOK_S: Final = 0.001


class _Watcher(asyncio.Protocol):
    """Notes when a line of its watch is there."""

    def __init__(self, request: bytes, seen: list[float]) -> None:
        self._request = request
        self._seen = seen
        self._head = True
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self._head:
            self._head = b"\r\n\r\n" not in data
            data = data.partition(b"\r\n\r\n")[2]
            if not self._head:
                self.opened.set_result(None)
        # one event a time: its line ends with this
        if b"}\n" in data:
            self._seen.append(time.perf_counter())


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


def elsewhere(action: Callable[..., T], *arguments: object) -> T:
    """Do it in a process of its own.

    Raises:
        BrokenProcessPool: it cannot be started, or has died.
    """
    # a pool of multiprocessing would go on starting processes that die at once
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(action, *arguments).result(timeout=TIMEOUT_S + 10)
