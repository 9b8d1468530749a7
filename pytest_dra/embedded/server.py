"""The embedded API server: its own thread, its own loop, one port of the loopback interface."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from aiohttp import web

from pytest_dra.api.versions import LATEST
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.embedded import typed
from pytest_dra.embedded.access import Authorizer
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.access import everyone_known
from pytest_dra.embedded.discovery import Discovery
from pytest_dra.embedded.handler import Handler
from pytest_dra.embedded.kinds import registry
from pytest_dra.embedded.operations import Operations
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.store import Store
from pytest_dra.timeline import Timeline

_LOG: Final = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
"""The only address that the server listens on."""

START_S: Final = 10.0
"""Longest start; normal is far below a second."""

STOP_S: Final = 0.8
"""Longest orderly end; afterwards the loop is left to itself."""

_SHUTDOWN_S: Final = 0.1
"""What open connections get to finish; watches have been cancelled before."""

INITIAL_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that every cluster has."""


class ApiServer:
    """A Kubernetes API server for one test run.

    Args:
        timeline: gets every request as an :class:`~pytest_dra.timeline.ApiRequest`.
        kubernetes: the version to behave like, for example ``1.36``.
        tokens: bearer token to identity.
        gates: feature gates that differ from that version's defaults.
        authorize: decides each request; by default every known token may do everything.

    Raises:
        ValueError: the version or a gate is unknown.
    """

    def __init__(
        self,
        *,
        timeline: Timeline,
        kubernetes: str = LATEST,
        tokens: Mapping[str, User],
        gates: Mapping[str, bool] = MappingProxyType({}),
        authorize: Authorizer = everyone_known,
    ) -> None:
        self.url = ""
        self._version = kubernetes_version(kubernetes).with_gates(gates)
        self._tokens = Tokens(tokens)
        self._store = Store()
        kinds = registry(self._version)
        self._handler = Handler(
            operations=Operations(store=self._store, kinds=kinds, version=self._version),
            discovery=Discovery(self._version, kinds),
            tokens=self._tokens,
            authorize=authorize,
            timeline=timeline,
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended: asyncio.Event | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None

    def add_token(self, token: str, user: User) -> None:
        """Accept one more token, from now on; callable from any thread."""
        self._tokens.add(token, user)

    def start(self) -> None:
        """Listen; the server is ready when this returns.

        Raises:
            RuntimeError: it was started before, or did not come up.
        """
        if self._thread is not None:
            raise RuntimeError("the API server has been started before: make a new one")
        self._make_namespaces()
        self._thread = threading.Thread(target=self._run, name="dra-api-server", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_S):
            raise RuntimeError(f"the API server was not ready within {START_S:g} s")
        if self._failure is not None:
            raise RuntimeError(f"the API server did not start: {self._failure}") from self._failure

    def stop(self) -> None:
        """Cancel open watches and close the port, within a second; may be called twice."""
        loop, ended, thread = self._loop, self._ended, self._thread
        if thread is None:
            return
        if loop is not None and ended is not None and thread.is_alive():
            try:
                loop.call_soon_threadsafe(ended.set)
            except RuntimeError:
                _LOG.debug("the loop has ended by itself")
        thread.join(STOP_S)
        if thread.is_alive():
            _LOG.warning("the API server did not end within %s s", STOP_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:
            self._failure = error
            _LOG.exception("the API server failed")
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        server = web.Server(self._handler, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_S)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, 0)
            await site.start()
            port = runner.addresses[0][1]
            self.url = f"http://{HOST}:{port}"
            self._ready.set()
            await self._ended.wait()
            self._handler.cancel_watches()
        finally:
            await runner.cleanup()

    def _make_namespaces(self) -> None:
        for name in INITIAL_NAMESPACES:
            self._store.put(
                "core.Namespace",
                {
                    "metadata": {
                        "name": name,
                        "uid": f"00000000-0000-4000-8000-{INITIAL_NAMESPACES.index(name):012d}",
                        "creationTimestamp": now(),
                        "labels": {"kubernetes.io/metadata.name": name},
                    },
                    "spec": {"finalizers": ["kubernetes"]},
                    "status": {"phase": "Active"},
                },
            )
            account = typed.empty("core.ServiceAccount")
            account["metadata"] = {
                "name": "default",
                "namespace": name,
                "uid": f"00000000-0000-4000-8001-{INITIAL_NAMESPACES.index(name):012d}",
                "creationTimestamp": now(),
            }
            self._store.put("core.ServiceAccount", account)
