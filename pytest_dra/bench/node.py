"""A node without its driver: the Node object, the directories, the boot, and whose slices go."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from pytest_dra.api.names import driver_name_error
from pytest_dra.api.resources import NODES
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench.abroad import Abroad
from pytest_dra.clusters.protocol import Accounts
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.containers.box import Box
from pytest_dra.containers.fleet import Fleet
from pytest_dra.embedded.incluster import ACCOUNT_DIR
from pytest_dra.kube import KubeError
from pytest_dra.launch import Jail
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.directories import empty
from pytest_dra.launch.jail import BOOT_ID
from pytest_dra.spec import UnsupportedEnvironment

IN_MEMORY = ("/run", "/var/run", "/tmp", "/dev/shm")  # noqa: S108 - compared, never used as paths
"""What nodes keep in memory: empty after a reboot."""

READABLE = 0o644
"""Mode of a ServiceAccount's files in a pod."""

BOOT_ID_BYTES = 64
"""More than a UUID and its newline."""


class Node:
    """One node of the bench; a driver's processes are an ``Instance`` on it.

    Args:
        name: of the Node object.
        cluster: where that is.
        directories: the node's.
        jailed: the driver sees these at the usual paths, and a boot id of its own.
        writable: further absolute paths that are the driver's own in the jail
            (``launch.writable``); without one they are the host's.
        reads_boot_id: what the profile says; only where it is False a reboot can be played
            without a jail.
        in_cluster: the driver finds the API server as from within a pod; only with a jail.
        trees: what the driver sees at further paths in the jail (``launch.trees``).
        abroad: looks at the host for what the driver makes there; without a jail only.
        fleet: the driver runs in containers of it, in place of a jail.
    """

    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        directories: NodeDirectories,
        jailed: bool = False,
        writable: Sequence[str] = (),
        reads_boot_id: bool = True,
        in_cluster: bool = False,
        trees: Mapping[str, Path] = MappingProxyType({}),
        abroad: Abroad | None = None,
        fleet: Fleet | None = None,
    ) -> None:
        self.name = name
        self.account: Mapping[str, str] = MappingProxyType({})
        self.directories = directories
        self._cluster = cluster
        self._reads_boot_id = reads_boot_id
        self._own: dict[str, Path] = {}
        if jailed or fleet is not None:
            self._own = {inside: directories.make_own() for inside in writable}
        in_pod = fleet is not None or (jailed and in_cluster)
        self._account_dir = directories.make_own() if in_pod else None
        self.lodging: Jail | Box | None = None
        if fleet is not None and self._account_dir is not None:
            self.lodging = Box(
                directories,
                fleet=fleet,
                writable=self._own,
                trees=trees,
                account=self._account_dir,
            )
        elif jailed:
            account = {ACCOUNT_DIR: self._account_dir} if self._account_dir is not None else {}
            self.lodging = Jail(directories, extra={**self._own, **account}, trees=trees)
        self.abroad = abroad if self.lodging is None else None
        self._boot_id = self._hidden_boot_id() or _host_boot_id()

    def _hidden_boot_id(self) -> str:
        """The boot id that the driver sees, where that is not the host's."""
        return self.lodging.boot_id if isinstance(self.lodging, Jail) else ""

    def make(self) -> None:
        """Make the Node object, or bring the one that is there up to date."""
        if self.abroad is not None:
            self.abroad.begin()
        labels = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}
        try:
            self._cluster.admin().create(NODES, {"metadata": {"name": self.name, "labels": labels}})
        except KubeError as error:
            if error.reason != "AlreadyExists":
                raise
        status = {"status": {"nodeInfo": {"bootID": self._boot_id}}}
        self._cluster.admin().patch(NODES, self.name, status, subresource="status")

    def introduce(self, instance: str) -> str:
        """Write what a driver instance needs to find the API server; returns its user name.

        In a pod's way (``in_cluster``) that is the account's directory too, and the variables in
        ``account``.

        Raises:
            ClusterError: the cluster has no HTTPS.
        """
        if self._account_dir is not None:
            if not isinstance(self._cluster, Accounts):
                raise ClusterError("launch.in_cluster: only the embedded cluster has that")
            self.account = self._cluster.driver_account(
                self._account_dir, instance=instance, node=self.name
            )
            for file in self._account_dir.iterdir():
                # As in a pod, for containers whose user is not ours; the directory round it is.
                file.chmod(READABLE)
        path = self.directories.kubeconfig
        return self._cluster.driver_kubeconfig(path, instance=instance, node=self.name)

    @property
    def own_paths(self) -> tuple[str, ...]:
        """The driver's directories by all names that it may call them."""
        inside = self.lodging.private if self.lodging is not None else ()
        return (str(self.directories.root), *inside)

    def outside(self, path: str | Path) -> Path:
        """Where the file lies for us that the driver calls ``path``.

        A relative one begins in the working directory, and is made as short as it can be: a socket
        has to be reached by it.
        """
        if not Path(path).is_absolute():
            path = os.path.normpath(Path.cwd() / path)
        return self.lodging.outside(path) if self.lodging is not None else Path(path)

    def reached(self, path: str | Path) -> Path:
        """Where that lies for us which the driver reaches at ``path``, or has made in the
        registry: links in the jail lead where they lead for the driver."""
        return self.lodging.reached(path) if self.lodging is not None else Path(path)

    def must_reboot_truly(self) -> None:
        """Refuse a reboot of which the driver could tell that it was none.

        Raises:
            UnsupportedEnvironment: the driver may look at the boot id, and it is the host's.
        """
        if not self._hidden_boot_id() and self._reads_boot_id:
            raise UnsupportedEnvironment(
                "a driver that looks at the kernel's boot id would not believe the reboot",
                way_out="--dra-jail, or driver.reads_boot_id: false in the profile for a driver"
                " that does not look at it",
            )

    def reboot(self) -> None:
        """Lose what lies in memory and in the registry, and take another boot id.

        On a real node sockets of the registry may stay. What a driver makes of stale ones is the
        matter of a case of its own.
        """
        empty(self.directories.cdi_dir)
        empty(self.directories.registry_dir)
        for inside, directory in self._own.items():
            if any(inside == top or inside.startswith(f"{top}/") for top in IN_MEMORY):
                empty(directory)
        if isinstance(self.lodging, Jail):
            self.lodging.reboot()
        self._boot_id = self._hidden_boot_id() or str(uuid.uuid4())

    def wipe(self) -> None:
        """Empty everything that a driver can write to."""
        self.directories.wipe()
        for directory in self._own.values():
            empty(directory)
        if isinstance(self.lodging, Box):
            self.lodging.wipe()

    def wipe_slices(self, driver: str | None) -> None:
        """Delete the node's slices of one driver, or of all, as its kubelet does.

        With a name that no slice can have there is nothing to ask for, however long it is.
        """
        if driver and driver_name_error(driver):
            return
        selector = f"spec.nodeName={self.name}" + (f",spec.driver={driver}" if driver else "")
        self._cluster.kubelet(self.name).delete_collection(RESOURCE_SLICES, field_selector=selector)


def _host_boot_id() -> str:
    try:
        with Path(BOOT_ID).open("rb") as file:
            return os.fsdecode(file.read(BOOT_ID_BYTES)).strip()
    except OSError:
        return ""
