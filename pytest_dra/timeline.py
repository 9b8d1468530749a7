"""Everything that crosses one of the four places of a driver, in the order in which it was seen.

API requests, calls on the registration socket, calls on the DRA socket and the life of the
process go into one :class:`Timeline`. Cases read it, reports quote it. It is written by several
threads (API server, kubelet stand-in, launcher) and only ever grows.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from typing import Generic
from typing import TypeVar

from pytest_dra.spec import Json


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """One request to the API server and its answer.

    ``verb`` is the Kubernetes verb (get, list, watch, create, update, patch, delete,
    deletecollection). ``body`` is the object as the client sent it, decoded but before defaulting
    and gate dropping; ``answer`` the object returned (None for watches and text answers).
    ``code`` is the HTTP status. ``duration_s`` is the server's own time.
    """

    identity: str
    verb: str
    group: str
    version: str
    resource: str
    namespace: str
    name: str
    subresource: str
    query: str
    user_agent: str
    body: Json | None
    code: int
    answer: Json | None
    duration_s: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationCall:
    """One call on a registration socket: GetInfo or NotifyRegistrationStatus.

    ``code`` is the gRPC status name (``OK``, ``DEADLINE_EXCEEDED`` ...), ``request`` and
    ``response`` the messages as dicts with their proto field names (``response`` None unless OK).
    """

    instance: str
    socket: str
    method: str
    request: Json
    response: Json | None
    code: str
    details: str
    duration_s: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EndpointProbe:
    """One single attempt to connect to the DRA endpoint straight after GetInfo had answered."""

    instance: str
    endpoint: str
    connected: bool
    error: str
    duration_s: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DraCall:
    """One NodePrepareResources or NodeUnprepareResources call of the kubelet stand-in.

    ``claims`` are the requested claims as ``{"namespace", "uid", "name"}``; ``response`` is the
    answer's claims map by uid with proto field names (None unless ``code`` is OK).
    """

    instance: str
    driver: str
    service: str
    method: str
    claims: tuple[Json, ...]
    response: Json | None
    code: str
    details: str
    duration_s: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """One message of a health stream.

    ``devices`` are its entries with proto field names, the device's identifier as ``pool_name`` and
    ``device_name``; ``left_out`` counts those that did not fit.
    """

    instance: str
    driver: str
    service: str
    devices: tuple[Json, ...]
    left_out: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """A health stream was ``opened`` or has ``ended`` (``action``), then with a gRPC code.

    ``full``: it goes on, but no further report is written down.
    """

    instance: str
    driver: str
    service: str
    action: str
    code: str = ""
    details: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEvent:
    """A driver process was started, signalled, or has ended.

    ``exit_code`` < 0: killed by that signal.
    """

    instance: str
    component: str
    action: str
    pid: int
    exit_code: int | None = None
    detail: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FileEvent:
    """Something happened to a file of a CDI directory, as the kernel told it.

    ``action`` is ``created`` (also a link), ``modified``, ``written`` (closed after it was open for
    writing), ``moved-from``, ``moved-to`` or ``deleted``; of the directory itself (``name`` empty)
    ``appeared`` or ``vanished``; ``lost``: events are missing from here on. ``cookie`` pairs the
    two halves of a rename. ``digest`` and ``problem`` tell of the text of a spec when it was
    written or moved-to: its SHA-256, and why the CDI library refuses it; both are empty where it
    was not looked at.
    """

    instance: str
    directory: str
    name: str
    action: str
    cookie: int = 0
    digest: str = ""
    problem: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A remark of the suite: a case begins, the node's slices are wiped, a kubelet restarts."""

    text: str
    instance: str = ""
    data: Json | None = None


Event = (
    ApiRequest
    | RegistrationCall
    | EndpointProbe
    | DraCall
    | HealthReport
    | StreamEvent
    | ProcessEvent
    | FileEvent
    | Mark
)
E_co = TypeVar("E_co", covariant=True, bound=Any)
E = TypeVar("E", bound=Any)


@dataclasses.dataclass(frozen=True, slots=True)
class Entry(Generic[E_co]):
    """An event with its place: ``at`` is seconds since the timeline began.

    ``disturbed``: the suite was making trouble on purpose (a killed driver, a wiped slice), so the
    entry is left out where ordinary traffic is judged.
    """

    serial: int
    at: float
    disturbed: bool
    event: E_co


class Timeline:
    """An append-only, thread-safe list of :class:`Entry`.

    ``changed`` is notified after each entry; ``waiting.until`` waits on it.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._entries: list[Entry[Any]] = []
        self._began = time.monotonic()
        self._disturbed: list[str] = []

    def now(self) -> float:
        """Seconds since the timeline began, on the clock that stamps the entries."""
        return time.monotonic() - self._began

    def add(self, event: Event) -> Entry[Any]:
        """Append ``event`` and wake whoever waits."""
        with self.changed:
            entry = Entry(len(self._entries), self.now(), bool(self._disturbed), event)
            self._entries.append(entry)
            self.changed.notify_all()
        return entry

    def __len__(self) -> int:
        return len(self._entries)

    def entries(
        self,
        kind: type[E],
        *,
        since: int = 0,
        where: Callable[[E], bool] | None = None,
        disturbed: bool = True,
    ) -> list[Entry[E]]:
        """The entries of one kind, oldest first.

        Args:
            kind: the event class.
            since: first serial to look at (``len(timeline)`` taken earlier).
            where: keeps an entry if it is true of the event.
            disturbed: False leaves out what happened while the suite made trouble.
        """
        with self.changed:
            window = self._entries[since:]
        return [
            entry
            for entry in window
            if isinstance(entry.event, kind)
            and (disturbed or not entry.disturbed)
            and (where is None or where(entry.event))
        ]

    def all(self, *, since: int = 0) -> list[Entry[Any]]:
        """Every entry from serial ``since`` on, oldest first."""
        with self.changed:
            return self._entries[since:]

    @contextmanager
    def disturbance(self, why: str) -> Iterator[None]:
        """Mark what is recorded meanwhile as traffic that the suite provoked by a disturbance."""
        with self.changed:
            self._disturbed.append(why)
        try:
            yield
        finally:
            with self.changed:
                self._disturbed.remove(why)
