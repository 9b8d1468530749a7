"""The ``embedded`` cluster: our own API server in a thread of this process."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters import accounts
from pytest_dra.clusters.accounts import DRIVER_GROUP
from pytest_dra.clusters.accounts import account
from pytest_dra.clusters.accounts import install
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.protocol import Trouble
from pytest_dra.clusters.trouble import EmbeddedTrouble
from pytest_dra.embedded.access import MASTERS
from pytest_dra.embedded.access import User
from pytest_dra.embedded.certificates import CertificateError
from pytest_dra.embedded.certificates import Certificates
from pytest_dra.embedded.certificates import make_certificates
from pytest_dra.embedded.incluster import NAMESPACE
from pytest_dra.embedded.incluster import variables
from pytest_dra.embedded.incluster import write_account
from pytest_dra.embedded.kubeconfig import write_kubeconfig
from pytest_dra.embedded.server import ApiServer
from pytest_dra.kube import Client
from pytest_dra.profile.rights import Rights
from pytest_dra.spec import Depth
from pytest_dra.timeline import Timeline

ADMIN = "pytest-dra"
"""User name of the suite's own requests on the timeline."""

TOKEN_BYTES = 24
"""Random bytes of a bearer token: beyond guessing for another user of the machine."""


class EmbeddedCluster:
    """See :class:`pytest_dra.clusters.protocol.Cluster`; nothing outlives the process.

    Args:
        directory: private directory for the kubeconfig files.
        kubernetes: minor version whose limits and gates the server takes.
        timeline: where each request is written down.
        gates: feature gates that differ from that version's defaults.
        rights: what drivers may do; None: everything.
    """

    provider = "embedded"
    depth = Depth.WIRE

    def __init__(
        self,
        directory: Path,
        *,
        kubernetes: str,
        timeline: Timeline,
        gates: Mapping[str, bool] = MappingProxyType({}),
        rights: Rights | None = None,
    ) -> None:
        self.kubernetes = kubernetes
        self.version = kubernetes_version(kubernetes).with_gates(gates)
        self._rights = rights
        self._directory = directory
        self._admin_token = secrets.token_hex(TOKEN_BYTES)
        self._server = ApiServer(
            timeline=timeline,
            kubernetes=kubernetes,
            gates=gates,
            tokens={self._admin_token: User(name=ADMIN, groups=(MASTERS,))},
            limited=accounts.is_driver,
            rbac=True,
            controllers=True,
            trusted=() if rights else (DRIVER_GROUP,),
        )
        self._admin: Client | None = None
        self._kubelets: dict[str, Client] = {}
        self._certificates: Certificates | None = None

    def start(self) -> None:
        """Start the server; ready when this returns."""
        try:
            self._server.start()
        except (OSError, RuntimeError) as error:
            raise ClusterError(f"the embedded API server does not start: {error}") from error
        if self._rights is not None:
            install(self.admin(), self._rights)

    def stop(self) -> None:
        """Close the clients and the server."""
        clients = [*self._kubelets.values(), *([self._admin] if self._admin else [])]
        for client in clients:
            client.close()
        self._kubelets.clear()
        self._admin = None
        self._server.stop()

    @property
    def url(self) -> str:
        """Address of the server, on loopback."""
        return self._server.url

    def admin_kubeconfig(self) -> Path:
        """A kubeconfig with all rights, for kubectl or a user's own client."""
        path = self._directory / "admin.kubeconfig"
        if not path.exists():
            write_kubeconfig(path, server=self._server.url, token=self._admin_token)
        return path

    def admin(self) -> Client:
        """The suite's own identity."""
        if self._admin is None:
            self._admin = Client(self.admin_kubeconfig())
        return self._admin

    def kubelet(self, node: str) -> Client:
        """The identity of the node's kubelet."""
        if node not in self._kubelets:
            path = self._directory / f"kubelet-{node}.kubeconfig"
            self._write(path, accounts.kubelet(node))
            self._kubelets[node] = Client(path)
        return self._kubelets[node]

    def driver_kubeconfig(self, path: Path, *, instance: str, node: str) -> str:
        """A ServiceAccount of its own for each instance, bound to its node."""
        user = account(instance, node, self._rights)
        self._write(path, user)
        return user.shown

    def logs(self) -> Mapping[str, str]:
        """Nothing: it is no program of its own."""
        return {}

    def driver_account(self, directory: Path, *, instance: str, node: str) -> Mapping[str, str]:
        """What the pod of a driver finds in ``directory``, and its environment, over HTTPS."""
        try:
            if self._certificates is None:
                self._certificates = make_certificates(self._directory / "tls")
            url = self._server.listen_securely(self._certificates)
        except (CertificateError, OSError, RuntimeError) as error:
            raise ClusterError(f"no in-cluster configuration: {error}") from error
        token = self._token(account(instance, node, self._rights))
        write_account(
            directory,
            token=token,
            authority=self._certificates.authority,
            namespace=self._rights.namespace if self._rights else NAMESPACE,
        )
        return variables(url)

    def trouble(self) -> Trouble:
        """Misbehaviour on request."""
        return EmbeddedTrouble(self._server)

    def _write(self, path: Path, user: User) -> None:
        write_kubeconfig(path, server=self._server.url, token=self._token(user))

    def _token(self, user: User) -> str:
        token = secrets.token_hex(TOKEN_BYTES)
        self._server.add_token(token, user)
        return token
