"""The ``kubeconfig`` cluster: one that exists and belongs to others as well."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.clusters import contexts
from pytest_dra.clusters.discovery import served
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.launch import Keeper
from pytest_dra.spec import Depth
from pytest_dra.spec import UnsupportedEnvironment

KUBECONFIG: Final = "kubeconfig"

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What a server says of itself: the context by which it was found, address and version.

    ``namespace``: the context's.
    """

    context: str
    server: str
    version: str
    namespace: str = "default"


class KubeconfigCluster:
    """See :class:`pytest_dra.clusters.whole.WholeCluster`.

    Args:
        context: of the kubeconfig; "": the current one.
        keeper: removes the private copy of the kubeconfig; None: it is left to :meth:`stop`.
        environ: names the kubeconfig, as for kubectl; without one a pod's ServiceAccount is it.
    """

    provider = KUBECONFIG
    depth = Depth.CLUSTER
    ours = False
    ends = False

    def __init__(
        self, context: str, *, keeper: Keeper | None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.name = self._context = context
        self._keeper = keeper
        self._environ = environ
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._client: Client | None = None
        self._facts: Facts | None = None
        self._token_file: Path | None = None

    def start(self) -> None:
        """Find it and see whether it can be judged on. Raises ClusterError."""
        name, config = contexts.found(self._environ, self._context)
        self._token_file = contexts.token_file_of(config)
        self._directory = tempfile.TemporaryDirectory(prefix="dra-kubeconfig-")
        if self._keeper is not None:
            self._keeper.own_directory(Path(self._directory.name))
        contexts.written(config, self.admin_kubeconfig())
        server = contexts.server_of(config)
        try:
            version = self.admin().server_version()
            if not served(self.admin(), RESOURCE_SLICES.api_version):
                raise ClusterError(
                    f"context {name}: {server} ({version}) serves no "
                    f"{RESOURCE_SLICES.api_version}: want Kubernetes 1.34 or newer, with "
                    "DynamicResourceAllocation on"
                )
        except KubeError as error:
            raise ClusterError(f"context {name}: {_told(error, server)}") from error
        self._facts = Facts(name, server, version, contexts.namespace_of(config))

    def stop(self) -> None:
        """Forget the credentials; nothing of the cluster ends."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
        directory, self._directory = self._directory, None
        if directory is not None:
            directory.cleanup()

    @property
    def facts(self) -> Facts:
        """What the server says of itself, once it has been found."""
        if self._facts is None:
            raise RuntimeError("the cluster has not been found: start it first")
        return self._facts

    def admin(self) -> Client:
        """The identity of the context."""
        if self._client is None:
            try:
                self._client = Client(self.admin_kubeconfig(), token_file=self._token_file)
            except KubeError as error:
                raise ClusterError(str(error)) from error
        return self._client

    def admin_kubeconfig(self) -> Path:
        """A private copy of the context alone."""
        if self._directory is None:
            raise RuntimeError("the cluster has not been found: start it first")
        return Path(self._directory.name) / KUBECONFIG

    def load(self, image: str) -> bool:
        """False: nodes pull their images."""
        return False

    def on_node(self, node: str, argv: Sequence[str], *, timeout_s: float) -> str:
        """Raises UnsupportedEnvironment: nobody gets in."""
        raise UnsupportedEnvironment(
            "a kubeconfig lets nobody run commands on a node", way_out="--dra-cluster=kind"
        )

    def logs(self) -> str:
        """Nothing: a kubeconfig opens no node."""
        return ""


def _told(error: KubeError, server: str) -> str:
    if error.code == _UNAUTHORIZED:
        return f"{server} does not accept its credentials (401): log in again"
    if error.code == _FORBIDDEN:
        return f"{server} refuses even to say what it is: {error}"
    if not error.code:
        return f"{server} cannot be reached: {error}"
    return f"{server} is no API server of Kubernetes: {error}"
