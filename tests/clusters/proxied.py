"""The recording proxy with the embedded server behind it, which plays the real one."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters.controlplane import ControlPlane
from pytest_dra.clusters.embedded import ADMIN
from pytest_dra.clusters.proxy import RecordingProxy
from pytest_dra.clusters.realtrouble import RealTrouble
from pytest_dra.clusters.recording import Recorder
from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.embedded.access import MASTERS
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.kubeconfig import write_kubeconfig
from pytest_dra.kube import Client
from pytest_dra.timeline import Timeline

BEHIND, BEFORE = "token-of-the-proxy", "token-of-the-suite"


class Plane(ControlPlane):
    """Restarts nothing; only the objects can be lost."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server

    def restart(self, *, loses_objects: bool = False) -> None:
        """Lose what was asked for."""
        if loses_objects:
            self.server.lose_objects()

    @contextmanager
    def second(self, *, gates: Mapping[str, bool], serving: Mapping[str, bool]) -> Iterator[str]:
        """The same server; that it is another one is a matter of the real one."""
        del gates, serving
        yield self.server.url


class ProxiedCluster:
    """As much of a cluster as the tests of its misbehaviour need.

    Args:
        directory: for the kubeconfig.
        timeline: what the proxy records; the server behind has another one.
    """

    def __init__(self, directory: Path, *, timeline: Timeline) -> None:
        self._kubeconfig = directory / "kubeconfig"
        user = User(name=ADMIN, groups=(MASTERS,))
        self._server = ApiServer(timeline=Timeline(), tokens={BEHIND: user})
        self._timeline = timeline
        self._tokens = Tokens({BEFORE: user})
        self._proxy: RecordingProxy | None = None
        self._admin: Client | None = None

    def start(self) -> None:
        """Start both."""
        self._server.start()
        self._proxy = RecordingProxy(
            self._server.url,
            trust=ssl.create_default_context(),
            token=BEHIND,
            admin=ADMIN,
            tokens=self._tokens,
            recorder=Recorder(kubernetes_version()),
            timeline=self._timeline,
            limited=lambda _: False,
        )
        self._proxy.start()
        write_kubeconfig(self._kubeconfig, server=self._proxy.url, token=BEFORE)

    def stop(self) -> None:
        """Stop both."""
        if self._admin is not None:
            self._admin.close()
        if self._proxy is not None:
            self._proxy.stop()
        self._server.stop()

    @property
    def url(self) -> str:
        """Of the proxy."""
        return self._proxy.url if self._proxy is not None else ""

    def admin_kubeconfig(self) -> Path:
        """Of the one user."""
        return self._kubeconfig

    def admin(self) -> Client:
        """The one user."""
        if self._admin is None:
            self._admin = Client(self._kubeconfig)
        return self._admin

    def trouble(self) -> RealTrouble:
        """What the proxy does."""
        assert self._proxy is not None
        return RealTrouble(
            proxy=self._proxy,
            plane=Plane(self._server),
            version=kubernetes_version(),
            admin=self.admin,
            furnish=lambda: None,
        )
