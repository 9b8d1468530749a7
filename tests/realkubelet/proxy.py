"""Stands on a node between the kubelet and the sockets of a driver, and writes down what goes by.

The driver has its sockets elsewhere; for each of them one of the same name is where the kubelet
looks, and what is said on it is passed on, byte for byte, in both directions.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import threading
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.spec import Json
from tests.realkubelet.frames import Direction
from tests.realkubelet.frames import Seen
from tests.realkubelet.words import answer_of
from tests.realkubelet.words import call_of

EVERY_S: Final = 0.02
"""Between two looks at the driver's directories."""

THREAD_S: Final = 5.0
"""Longest wait for the end of a thread."""

CHUNK: Final = 1 << 16
BACKLOG: Final = 16

Note = Callable[..., None]


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where the driver's sockets of one kind (``reg``, ``dra``) are, and where the kubelet's."""

    sock: str
    theirs: Path
    kubelets: Path


class Proxy:
    """See the module. A context manager; nothing of it is left.

    Args:
        places: directories; those below them count, too.
        note: is told everything, in the words of a recording.
    """

    def __init__(self, places: list[Place], note: Note) -> None:
        self._places = places
        self._note = note
        self._ends = threading.Event()
        self._sockets: dict[Path, _Mirror] = {}
        self._thread = threading.Thread(target=self._watch, name="proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join(THREAD_S)
        for each in self._sockets.values():
            each.close()

    def _watch(self) -> None:
        while not self._ends.wait(EVERY_S):
            # What is registered has to be served: endpoints come first.
            for place in sorted(self._places, key=lambda each: each.sock):
                self._look(place)

    def _look(self, place: Place) -> None:
        there = set(_sockets_below(place.theirs))
        for path in there - set(self._sockets):
            mirrored = place.kubelets / path.relative_to(place.theirs)
            # First what it is, since somebody may connect at once.
            self._note(do="socket file appears", sock=place.sock)
            self._sockets[path] = _Mirror(place.sock, path, mirrored, self._note)
        known = [path for path in self._sockets if place.theirs in path.parents]
        for path in set(known) - there:
            self._sockets.pop(path).close()
            self._note(do="socket file removed", sock=place.sock)


def _sockets_below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_socket():
                yield path


class _Mirror:
    """One socket of the driver, with its like where the kubelet looks."""

    def __init__(self, sock: str, theirs: Path, kubelets: Path, note: Note) -> None:
        self._sock = sock
        self._theirs = theirs
        self._kubelets = kubelets
        self._note = note
        self._number = 0
        self._pairs: list[_Pair] = []
        kubelets.parent.mkdir(parents=True, exist_ok=True)
        kubelets.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        with _short(kubelets) as address:
            self._listener.bind(address)
        self._listener.listen(BACKLOG)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                with _short(self._theirs) as address:
                    far.connect(address)
            except OSError:
                near.close()
                continue
            self._number += 1
            self._pairs.append(_Pair(near, far, self._told(self._number)))

    def _told(self, number: int) -> Note:
        return lambda **entry: self._note(sock=self._sock, conn=number, **entry)

    def close(self) -> None:
        """End it, and take its file away."""
        with contextlib.suppress(OSError):
            # Wakes the thread that waits there, as close does not.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(THREAD_S)
        for pair in self._pairs:
            pair.close()
        self._kubelets.unlink(missing_ok=True)


class _Pair:
    """A connection of the kubelet and that to the driver."""

    def __init__(self, near: socket.socket, far: socket.socket, note: Note) -> None:
        self._near, self._far, self._note = near, far, note
        self._calls: dict[int, Json] = {}
        self._bodies: dict[int, bytes] = {}
        self._answers: dict[int, list[bytes]] = {}
        self._lock = threading.Lock()
        self._closed = False
        note(ev="open")
        for source, target, client in ((near, far, True), (far, near, False)):
            work = (source, target, Direction(client=client))
            threading.Thread(target=self._pump, args=work, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, heard: Direction) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := source.recv(CHUNK):
                with self._lock:
                    for seen in heard.take(data):
                        self._hear(seen, client=heard.client)
                target.sendall(data)
        self.close()

    def close(self) -> None:
        """End both; whoever comes first tells."""
        with self._lock:
            first, self._closed = not self._closed, True
        for each in (self._near, self._far):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        if first:
            self._note(ev="close")

    def _hear(self, seen: Seen, *, client: bool) -> None:
        if client and seen.goaway:
            self._note(ev="goaway")
        elif client:
            self._asked(seen)
        else:
            self._answered(seen)

    def _asked(self, seen: Seen) -> None:
        if seen.headers:
            self._calls[seen.stream] = seen.headers
        self._bodies[seen.stream] = self._bodies.get(seen.stream, b"") + b"".join(seen.messages)
        headers = self._calls.get(seen.stream)
        if headers is None:
            return
        if seen.reset:
            self._note(ev="cancelled", method=headers[":path"].rpartition("/")[2])
        elif seen.ended:
            self._note(ev="call", **call_of(headers, self._bodies.pop(seen.stream)))

    def _answered(self, seen: Seen) -> None:
        headers = self._calls.get(seen.stream)
        if headers is None:
            return
        path = headers[":path"]
        entry: Json = {"ev": "answer", "method": path.rpartition("/")[2]}
        told = [answer_of(path, message) for message in seen.messages]
        streamed = any("devices" in each for each in told)
        for each in told if streamed else ():
            self._note(**entry, **each)
        self._answers.setdefault(seen.stream, []).extend(seen.messages)
        status: Any = seen.headers.get("grpc-status")
        if status is None:
            return
        bodies = self._answers.pop(seen.stream)
        if int(status):
            message = seen.headers.get("grpc-message", "")
            self._note(**entry, code=int(status), message=message)
        elif not streamed and bodies and not self._is_stream(path):
            content = answer_of(path, bodies[-1])
            if content:
                self._note(**entry, **content)

    @staticmethod
    def _is_stream(path: str) -> bool:
        return path.endswith("/NodeWatchResources")


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """The address of a socket whose path may be too long for one: by its directory's descriptor."""
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
