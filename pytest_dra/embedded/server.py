"""The embedded API server: its own thread, its own loop, one port of the loopback interface."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from pytest_dra.api.releases import LATEST
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.embedded import custom
from pytest_dra.embedded import definitions
from pytest_dra.embedded.access import Authorizer
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.access import everyone_known
from pytest_dra.embedded.background import Background
from pytest_dra.embedded.certificates import Certificates
from pytest_dra.embedded.controllers import Controllers
from pytest_dra.embedded.controllers import new_account
from pytest_dra.embedded.discovery import Discovery
from pytest_dra.embedded.flow import Flow
from pytest_dra.embedded.flow import nobody
from pytest_dra.embedded.handler import Handler
from pytest_dra.embedded.operations import Operations
from pytest_dra.embedded.port import HOST
from pytest_dra.embedded.port import Port
from pytest_dra.embedded.rbac import Rbac
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.store import Change
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.trouble import Rules
from pytest_dra.embedded.trouble import Scope
from pytest_dra.timeline import Timeline

_LOG: Final = logging.getLogger(__name__)

_WIRE_LOG: Final = logging.getLogger(f"{__name__}.wire")
"""Where aiohttp writes; what is no HTTP is answered with 400, and not worth a traceback."""


def _worth_telling(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


_WIRE_LOG.addFilter(_worth_telling)

STOP_S: Final = 0.8
"""Longest orderly end; afterwards the loop is left to itself."""

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
        limited: true for identities whose requests are held up where they are too many.
        rbac: decide by the stored RBAC objects and by node instead, as clusters do; only then
            the rules for kubelets and for parts of a claim's status count.
        trusted: with ``rbac``, groups that may do everything.
        controllers: do what a cluster's controllers do soon after a write.

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
        limited: Callable[[str], bool] = nobody,
        rbac: bool = False,
        trusted: Collection[str] = (),
        controllers: bool = False,
    ) -> None:
        self.url = ""
        self.secure_url = ""
        self._version = kubernetes_version(kubernetes).with_gates(gates)
        self._tokens = Tokens(tokens)
        self._store = Store()
        kinds = custom.served_kinds(self._version, self._store)
        self._store.bucket(definitions.TYPE).listeners.append(self._redefined)
        self._controllers = Controllers(self._store) if controllers else None
        rules = Rbac(self._store, trusted) if rbac else None
        self._handler = Handler(
            operations=Operations(
                store=self._store,
                kinds=kinds,
                version=self._version,
                tokens=self._tokens,
                allows=rules,
            ),
            discovery=Discovery(self._version, kinds),
            tokens=self._tokens,
            authorize=rules or authorize,
            rules=rules,
            timeline=timeline,
            flow=Flow(limited),
        )
        self._background = Background(
            "the API server", self._serve, name="dra-api-server", stop_s=STOP_S
        )
        self._ports: list[Port] = []

    def add_token(self, token: str, user: User) -> None:
        """Accept one more token, from now on; callable from any thread."""
        self._tokens.add(token, user)

    def start(self) -> None:
        """Listen; the server is ready when this returns.

        Raises:
            RuntimeError: it was started before, or did not come up.
        """
        self._background.start()

    def stop(self) -> None:
        """Cancel open watches and close the port, within a second; may be called twice."""
        self._background.stop()

    async def _serve(self) -> None:
        self._make_namespaces()
        try:
            self.url = f"http://{HOST}:{await self._listen(None)}"
            await self._background.until_stopped()
            self._handler.cancel_watches()
        finally:
            for port in self._ports:
                await port.end()

    async def _listen(self, tls: ssl.SSLContext | None) -> int:
        server = web.Server(
            self._handler, handler_cancellation=True, access_log=None, logger=_WIRE_LOG
        )
        port = Port(server, tls=tls)
        self._ports.append(port)
        await port.open()
        return port.number

    def listen_securely(self, certificates: Certificates) -> str:
        """Listen with HTTPS, too, on a port of its own; returns its URL, the same every time."""

        async def listen() -> None:
            self.secure_url = f"https://{HOST}:{await self._listen(certificates.context())}"

        if not self.secure_url:
            self._background.call(listen())
        return self.secure_url

    # misbehaviour on request, from any thread

    @property
    def rules(self) -> Rules:
        """What is done to requests on purpose."""
        return self._handler.rules

    def drop_watches(self, scope: Scope, *, in_order: bool = False) -> int:
        """End the open watches of a scope; see :class:`pytest_dra.clusters.protocol.Trouble`."""

        async def drop() -> int:
            return self._handler.drop_watches(scope, in_order=in_order)

        return self._background.call(drop())

    def forget_history(self, resource: str = "") -> None:
        """Forget the changes of one resource (its plural), or of all."""

        async def forget() -> None:
            for kind in {
                kind.storage
                for kind in self._handler.kinds.values()
                if resource in ("", kind.resource.plural)
            }:
                self._store.forget(kind)

        self._background.call(forget())

    def keep_history(self, changes: int) -> int:
        """Keep so many changes per kind; returns how many it was until now."""

        async def keep() -> int:
            return self._store.keep_history(changes)

        return self._background.call(keep())

    def lose_objects(self) -> None:
        """Forget every object and all history; only the first namespaces are there again."""

        async def lose() -> None:
            self._store.clear()
            self._make_namespaces()
            self._serve_kinds()

        self._background.call(lose())

    def _redefined(self, change: Change) -> None:
        """A CustomResourceDefinition came, changed or went: its objects go with it."""
        if change.new is None and change.old is not None:
            kept = custom.bucket(change.old.object)
            for found in self._store.sorted(kept):
                self._store.remove(kept, (found.namespace, found.name))
        self._serve_kinds()

    def _serve_kinds(self) -> None:
        self._handler.become(self._version, custom.served_kinds(self._version, self._store))

    def stored_version(self) -> int:
        """The version of the newest write."""

        async def look() -> int:
            return self._store.version

        return self._background.call(look())

    def close_port(self) -> None:
        """Refuse and reset connections until :meth:`open_port`; the objects stay."""

        async def close() -> None:
            for port in self._ports:
                await port.close()

        self._background.call(close())

    def open_port(self) -> None:
        """Listen again, on the same port."""

        async def open_again() -> None:
            for port in self._ports:
                await port.open()

        self._background.call(open_again())

    def become(self, version: KubernetesVersion) -> KubernetesVersion:
        """Behave like another version, or one with other gates; returns the one until now."""

        async def turn() -> KubernetesVersion:
            before, self._version = self._version, version
            self._serve_kinds()
            return before

        return self._background.call(turn())

    @property
    def version(self) -> KubernetesVersion:
        """The version that the server behaves like now."""
        return self._version

    @property
    def running(self) -> bool:
        """True from the start to the end of the server."""
        return self._background.running

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
            account = new_account(name)
            account["metadata"]["uid"] = (
                f"00000000-0000-4000-8001-{INITIAL_NAMESPACES.index(name):012d}"
            )
            self._store.put("core.ServiceAccount", account)
