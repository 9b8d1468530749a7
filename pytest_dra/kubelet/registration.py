"""One registration attempt: dial, GetInfo, checks, register, Notify, with the kubelet's texts."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import socket as sockets
import threading
import time
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.kubelet.answers import GetInfoReply
from pytest_dra.kubelet.answers import PluginInfo
from pytest_dra.kubelet.answers import Reply
from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.client import RegistrationClient
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.connection import shown
from pytest_dra.kubelet.connection import unreachable
from pytest_dra.kubelet.plugins import EndpointTaken
from pytest_dra.kubelet.plugins import Plugin
from pytest_dra.kubelet.plugins import PluginStore
from pytest_dra.kubelet.plugins import announced_endpoint
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.kubelet.settings import release
from pytest_dra.timeline import EndpointProbe
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.wire import DRA_API_NAMES
from pytest_dra.wire import PLUGIN_TYPE

ERROR_PREFIX = "RegisterPlugin error -- "
"""Begins every text of Notify(false) (operationexecutor, GenerateRegisterPluginFunc)."""

RETRIES_EVERYTHING_SINCE = (1, 37)
"""From here on a failed Notify deregisters, and both that and a taken endpoint are tried again;
before, neither was (recordings notify-error, two-instances-same-endpoint)."""

KUBELET_CWD = Path("/")
"""What a relative endpoint is relative to: the kubelet runs in the root directory."""


class Next(enum.Enum):
    """What follows an attempt."""

    REGISTERED = "registered"
    RETRY = "retry"
    NEVER = "never"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt to register what listens on a socket in the registry directory.

    ``at`` is the timeline's time of its end. ``info`` is None if there was no connection to ask on,
    ``refusal`` the text sent with Notify(false) or empty, ``notify`` None if Notify was not called.
    ``plugin`` is what was registered, also if it was deregistered again because Notify failed.
    """

    socket: Path
    at: float
    info: GetInfoReply | None = None
    refusal: str = ""
    notify: Reply | None = None
    plugin: Plugin | None = None
    next: Next = Next.RETRY

    @property
    def registered(self) -> bool:
        """True if the plugin was registered for good."""
        return self.next is Next.REGISTERED


def choose_service(supported_versions: Sequence[str]) -> str | None:
    """The first entry of the plugin's own list that the kubelet knows; None if there is none."""
    return next((name for name in supported_versions if name in DRA_API_NAMES), None)


def refusal_of(info: PluginInfo, socket: Path) -> str:
    """What the kubelet has against ``info``, as it tells the plugin; empty if nothing."""
    if info.type != PLUGIN_TYPE:
        problem = f"no handler registered for plugin type: {info.type}"
        return f"{ERROR_PREFIX}{problem} at socket {shown(socket)}"
    if choose_service(info.supported_versions) is not None:
        return ""
    if info.supported_versions:
        problem = (
            f"none of services supported by the plugin ({_go_list(info.supported_versions)})"
            f" are supported by the kubelet ({_go_list(DRA_API_NAMES)})"
        )
    else:
        problem = "empty list of supported gRPC services (aka supported versions)"
    return (
        f"{ERROR_PREFIX}plugin validation failed with err: invalid supported gRPC versions of"
        f" DRA driver plugin {info.name} at endpoint {announced_endpoint(info, socket)}: {problem}"
    )


def _go_list(texts: Sequence[str]) -> str:
    """A list of strings the way Go's %q shows it."""
    return "[" + " ".join(json.dumps(text, ensure_ascii=False) for text in texts) + "]"


def endpoint_path(info: PluginInfo, socket: Path) -> Path:
    """Where the DRA socket of the plugin is looked for."""
    return KUBELET_CWD / info.endpoint if info.endpoint else socket


def probe(endpoint: Path, *, timeout_s: float, instance: str) -> EndpointProbe:
    """Connect once to ``endpoint`` and close again; nothing is sent."""
    began = time.monotonic()
    error = unreachable(endpoint)
    if not error:
        with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as plain:
            plain.settimeout(timeout_s)
            try:
                plain.connect(os.fsencode(endpoint))
            except OSError as problem:
                error = problem.strerror or str(problem)
    return EndpointProbe(
        instance=instance,
        endpoint=shown(endpoint),
        connected=not error,
        error=error,
        duration_s=time.monotonic() - began,
    )


class Registrar:
    """Makes attempts; several may run at the same time.

    Args:
        kubernetes: minor version whose kubelet is played, such as ``1.37``.
        locate: where a socket lies for us, by the path that a plugin announces or that it is found
            at in the registry.
    """

    def __init__(
        self,
        *,
        store: PluginStore,
        timeline: Timeline,
        instance: str,
        kubernetes: str,
        settings: KubeletSettings,
        clock: Clock,
        locate: Callable[[Path], Path],
    ) -> None:
        self._clock = clock
        self._locate = locate
        self._store = store
        self._timeline = timeline
        self._instance = instance
        self._settings = settings
        self._retries_everything = release(kubernetes) >= RETRIES_EVERYTHING_SINCE
        self._lock = threading.Lock()
        self._clients: set[RegistrationClient] = set()
        self._closed = False

    def attempt(self, socket: Path, *, number: int) -> Attempt:
        """Try once to register what listens on ``socket``; ``number`` counts from 1."""
        client = RegistrationClient(
            self._locate(socket),
            timeline=self._timeline,
            instance=self._instance,
            settings=self._settings,
            clock=self._clock,
        )
        with self._lock:
            self._clients.add(client)
            if self._closed:
                client.close()
        try:
            with client:
                return self._attempt(client, socket, number)
        finally:
            with self._lock:
                self._clients.discard(client)

    def close(self) -> None:
        """Cut all attempts that run."""
        with self._lock:
            self._closed = True
            clients = list(self._clients)
        for client in clients:
            client.close()

    def _attempt(self, client: RegistrationClient, socket: Path, number: int) -> Attempt:
        made = Attempt(socket=socket, at=0.0)
        if not client.connected_within(self._settings.dial_s):
            if not self._closed:
                self._mark(f"no connection to {shown(socket)} within {self._settings.dial_s:g} s")
            return self._ended(made)
        reply = client.get_info(timeout_s=self._settings.get_info_s)
        made = dataclasses.replace(made, info=reply)
        if reply.info is None:
            return self._ended(made)
        endpoint = self._locate(endpoint_path(reply.info, socket))
        if self._settings.probe_s > 0:
            self._timeline.add(
                probe(endpoint, timeout_s=self._settings.probe_s, instance=self._instance)
            )
        service = choose_service(reply.info.supported_versions)
        refusal = refusal_of(reply.info, socket)
        if refusal or service is None:
            return self._refuse(client, made, refusal)
        try:
            plugin = self._store.add(
                reply.info, socket=socket, endpoint=endpoint, service=service, attempts=number
            )
        except EndpointTaken as taken:
            refusal = f"{ERROR_PREFIX}plugin registration failed with err: {taken}"
            last = Next.RETRY if self._retries_everything else Next.NEVER
            return self._refuse(client, made, refusal, then=last)
        return self._confirm(client, dataclasses.replace(made, plugin=plugin), plugin)

    def _refuse(
        self, client: RegistrationClient, made: Attempt, refusal: str, *, then: Next = Next.RETRY
    ) -> Attempt:
        notify = client.notify(registered=False, error=refusal, timeout_s=self._settings.notify_s)
        made = dataclasses.replace(made, refusal=bounded_text(refusal), notify=notify, next=then)
        return self._ended(made)

    def _confirm(self, client: RegistrationClient, made: Attempt, plugin: Plugin) -> Attempt:
        notify = client.notify(registered=True, timeout_s=self._settings.notify_s)
        if notify.ok or not self._retries_everything:
            return self._ended(dataclasses.replace(made, notify=notify, next=Next.REGISTERED))
        self._store.remove(plugin)
        return self._ended(dataclasses.replace(made, notify=notify))

    def _ended(self, made: Attempt) -> Attempt:
        return dataclasses.replace(made, at=self._timeline.now())

    def _mark(self, text: str) -> None:
        self._timeline.add(Mark(text=text, instance=self._instance))
