"""The ``apiserver`` cluster: a real etcd and kube-apiserver, with a recording proxy in front."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pytest_dra.api.resources import Resource
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters import accounts
from pytest_dra.clusters.accounts import DRIVER_GROUP
from pytest_dra.clusters.accounts import account
from pytest_dra.clusters.accounts import install
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.clusters.controlplane import ControlPlane
from pytest_dra.clusters.embedded import ADMIN
from pytest_dra.clusters.embedded import TOKEN_BYTES
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.protocol import Trouble
from pytest_dra.clusters.proxy import RecordingProxy
from pytest_dra.clusters.realtrouble import RealTrouble
from pytest_dra.clusters.recording import Recorder
from pytest_dra.embedded.access import MASTERS
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.kubeconfig import write_kubeconfig
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.launch import LaunchError
from pytest_dra.profile.rights import Rights
from pytest_dra.spec import Depth
from pytest_dra.timeline import Timeline

BINDINGS: Final = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", False
)


class ApiServerCluster:
    """See :class:`pytest_dra.clusters.protocol.Cluster`; no controller and no scheduler runs.

    Rights are decided by the real server, by node and by RBAC.

    Args:
        directory: private directory for the kubeconfig files.
        kubernetes: minor version that the server is or emulates.
        timeline: where each request is written down.
        binaries: the programs.
        gates: feature gates that differ from that version's defaults.
        rights: what drivers may do; None: everything.
    """

    provider = "apiserver"
    depth = Depth.WIRE

    def __init__(
        self,
        directory: Path,
        *,
        kubernetes: str,
        timeline: Timeline,
        binaries: Binaries,
        gates: Mapping[str, bool] = MappingProxyType({}),
        rights: Rights | None = None,
    ) -> None:
        self.kubernetes = kubernetes
        self.version = kubernetes_version(kubernetes).with_gates(gates)
        self.plane = ControlPlane(binaries, version=self.version, gates=gates, user=ADMIN)
        self._rights = rights
        self._directory = directory
        self._timeline = timeline
        self._admin_token = secrets.token_hex(TOKEN_BYTES)
        self._tokens = Tokens({self._admin_token: User(name=ADMIN, groups=(MASTERS,))})
        self._proxy: RecordingProxy | None = None
        self._clients: dict[str, Client] = {}

    def start(self) -> None:
        """Start both programs and the proxy; ready when this returns."""
        try:
            self.plane.start()
            self._proxy = RecordingProxy(
                self.plane.url,
                trust=self.plane.trust(),
                token=self.plane.token,
                admin=ADMIN,
                tokens=self._tokens,
                recorder=Recorder(self.version),
                timeline=self._timeline,
                limited=accounts.is_driver,
            )
            self._proxy.start()
            if self._rights is not None:
                install(self.admin(), self._rights)
            else:
                self._let_drivers_do_everything()
        except (OSError, RuntimeError, KubeError) as error:
            self.stop()
            raise ClusterError(f"--dra-cluster=apiserver: {error}") from error
        except BaseException:
            # An interruption as well: nobody else knows of the programs yet.
            self.stop()
            raise

    def stop(self) -> None:
        """Close the clients and the proxy, kill the programs."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        if self._proxy is not None:
            self._proxy.stop()
        try:
            self.plane.stop()
        except LaunchError as error:
            raise ClusterError(f"--dra-cluster=apiserver: {error}") from error

    @property
    def url(self) -> str:
        """Address of the proxy, on loopback."""
        return self._proxy.url if self._proxy is not None else ""

    def admin_kubeconfig(self) -> Path:
        """A kubeconfig with all rights, for kubectl or a user's own client."""
        path = self._directory / "admin.kubeconfig"
        if not path.exists():
            write_kubeconfig(path, server=self.url, token=self._admin_token)
        return path

    def admin(self) -> Client:
        """The suite's own identity."""
        if ADMIN not in self._clients:
            self._clients[ADMIN] = Client(self.admin_kubeconfig())
        return self._clients[ADMIN]

    def kubelet(self, node: str) -> Client:
        """The identity of the node's kubelet."""
        user = accounts.kubelet(node)
        if user.name not in self._clients:
            path = self._directory / f"kubelet-{node}.kubeconfig"
            self._write(path, user)
            self._clients[user.name] = Client(path)
        return self._clients[user.name]

    def driver_kubeconfig(self, path: Path, *, instance: str, node: str) -> str:
        """A ServiceAccount of its own for each instance, bound to its node."""
        user = account(instance, node, self._rights)
        self._write(path, user)
        return user.shown

    def logs(self) -> Mapping[str, str]:
        """The end of the output of both programs."""
        return self.plane.logs()

    def trouble(self) -> Trouble:
        """What its proxy does to requests, and restarts of the server itself."""
        if self._proxy is None:
            raise RuntimeError("the cluster is not running: start it first")
        return RealTrouble(
            proxy=self._proxy,
            plane=self.plane,
            version=self.version,
            admin=self.admin,
            furnish=self._let_drivers_do_everything,
        )

    def _write(self, path: Path, user: User) -> None:
        token = secrets.token_hex(TOKEN_BYTES)
        self._tokens.add(token, user)
        write_kubeconfig(path, server=self.url, token=token)

    def _let_drivers_do_everything(self) -> None:
        group = "rbac.authorization.k8s.io"
        self.admin().create(
            BINDINGS,
            {
                "metadata": {"name": "pytest-dra-drivers"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"apiGroup": group, "kind": "Group", "name": DRIVER_GROUP}],
            },
        )
