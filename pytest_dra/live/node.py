"""A node of the cluster from within, where the cluster is one that lets us in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.launch.tool import ToolError
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

COMMAND_S: Final = 60.0
"""Longest run of a command on a node."""

EVERY_S: Final = 0.5
"""Between two looks at files of a node."""

KUBELET: Final = "/var/lib/kubelet"
CDI_DIRECTORIES: Final = ("/var/run/cdi", "/etc/cdi")
"""Where the kubelet, drivers and container runtimes have their files."""

REGISTRY: Final = f"{KUBELET}/plugins_registry"
"""Where a kubelet looks for sockets of plugins."""

CHECKPOINT: Final = f"{KUBELET}/dra_manager_state"
"""The kubelet's memory of prepared claims: JSON within JSON."""

_SOCKETS: Final = 'find "$@" -type s -printf "%i %p\\n" 2>/dev/null; true'

_LISTENING: Final = "cat /proc/[0-9]*/net/unix 2>/dev/null; true"
"""Sockets of all network namespaces of the node, by the paths that their owners have bound."""

_ACCEPTS: Final = "00010000"
"""The flag there of a socket that listens (__SO_ACCEPTCON in include/linux/net.h)."""

CLOSE: Final = 80
WITH_IDS: Final = '"CDIDeviceIDs":["'
"""How far behind its field a UID stands there, and how a list of ids begins that is not empty."""


class LiveNode:
    """See the module.

    Args:
        cluster: whose node it is.
        name: of the node.
        driver: the driver's name, for its directory.
        within_s: how long it may take until a claim is forgotten.
    """

    def __init__(self, cluster: WholeCluster, name: str, *, driver: str, within_s: float) -> None:
        self._cluster = cluster
        self._driver = driver
        self._within_s = within_s
        self.name = name

    def run(self, *argv: str) -> str:
        """Run a command as root; its output.

        Raises:
            UnsupportedEnvironment: the cluster does not let us in.
            ToolError: it fails.
        """
        return self._cluster.on_node(self.name, argv, timeout_s=COMMAND_S)

    def restart_kubelet(self) -> None:
        """Restart the kubelet; it need not be ready again when this returns.

        Raises:
            UnsupportedEnvironment: the cluster does not let us in, or has no systemd.
        """
        try:
            self.run("systemctl", "restart", "kubelet")
        except ToolError as error:
            raise UnsupportedEnvironment(
                f"the kubelet of node {self.name} cannot be restarted: {error}",
                way_out="a node on which systemd runs the kubelet, such as kind's",
            ) from error

    def sockets(self) -> list[str]:
        """Sockets in the registry and in the driver's directory. Raises as :meth:`inodes`."""
        return sorted(self.inodes())

    def dead_sockets(self) -> list[str]:
        """Those of them on which nobody listens. Raises as :meth:`inodes`.

        Listeners are told by the last part of their path: directories have other names within a
        container.
        """
        found = self.sockets()
        lines = self._looked(_LISTENING).splitlines()
        living = {line.rpartition("/")[2] for line in lines if f" {_ACCEPTS} " in line}
        return [path for path in found if path.rpartition("/")[2] not in living]

    def inodes(self) -> dict[str, int]:
        """Their inodes by their paths.

        Raises:
            UnsupportedEnvironment: the node cannot be looked into.
        """
        found = self._looked(_SOCKETS, REGISTRY, f"{KUBELET}/plugins/{self._driver}")
        pairs = (line.split(maxsplit=1) for line in found.splitlines() if line.strip())
        return {path: int(inode) for inode, path in pairs}

    def _looked(self, script: str, *arguments: str) -> str:
        """What a script of a shell prints there. Raises UnsupportedEnvironment."""
        try:
            return self.run("sh", "-c", script, "sh", *arguments)
        except ToolError as error:
            raise UnsupportedEnvironment(str(error), way_out="see why it ended") from error

    def prepared(self, uid: str) -> list[tuple[str, str]]:
        """Pool and name of each device that the kubelet keeps for a prepared claim.

        Raises:
            UnsupportedEnvironment: its checkpoint cannot be read.
        """
        try:
            told = self.run("cat", CHECKPOINT)
        except ToolError as error:
            raise UnsupportedEnvironment(str(error), way_out="see why it ended") from error
        return [
            (str(device.get("PoolName")), str(device.get("DeviceName")))
            for device in devices_in(told, uid)
        ]

    def must_have_no_ids(self, uid: str) -> None:
        """Judge by the kubelet's checkpoint that Prepare has answered no CDI ids for a claim.

        Nothing is looked at where the cluster does not let us in.

        Raises:
            Violation: it has.
        """
        try:
            told = self.run("cat", CHECKPOINT)
        except (ToolError, UnsupportedEnvironment):
            return
        found = [part for part in told.split("ClaimUID")[1:] if uid in part[:CLOSE]]
        if any(WITH_IDS in part.replace(chr(92), "").replace(" ", "") for part in found):
            raise Violation(
                f"the answer to Prepare of claim {uid}, as the kubelet keeps it",
                got="CDI ids",
                want="none: injection.kind is not cdi",
            )

    def must_forget(self, uid: str) -> None:
        """Wait until no file of kubelet, driver and CDI names a claim.

        Nothing is looked at where the cluster does not let us in.

        Raises:
            Violation: some still do.
        """
        places = (
            *CDI_DIRECTORIES,
            f"{KUBELET}/plugins/{self._driver}",
            CHECKPOINT,
        )
        command = 'grep -rlF "$0" "$@" 2>/dev/null; find "$@" -name "*$0*" 2>/dev/null; true'
        left: list[str] = []

        def clean() -> bool:
            told = self.run("sh", "-c", command, uid, *places)
            left[:] = sorted(set(told.split()))
            return not left

        try:
            gone = poll(clean, Deadline.after(self._within_s), every_s=EVERY_S)
        except (ToolError, UnsupportedEnvironment):
            return
        if not gone:
            raise Violation(
                f"files of node {self.name} that name claim {uid}, whose pod was deleted by force",
                got=", ".join(left),
                want=f"none within {self._within_s:g} s: the claim is unprepared",
            )


def registers_at(path: str) -> bool:
    """True for a socket that a kubelet looks at to find plugins."""
    return path.startswith(f"{REGISTRY}/")


def devices_in(checkpoint: str, uid: str) -> Iterator[Json]:
    """The devices of a prepared claim in a kubelet's checkpoint, as the driver has answered them.

    Raises:
        UnsupportedEnvironment: the checkpoint is of another form.
    """
    try:
        kept = json.loads(json.loads(checkpoint)["Data"])
        claims = [
            each for each in kept.get("ClaimInfoStateList") or () if each.get("ClaimUID") == uid
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnsupportedEnvironment(
            f"the kubelet's checkpoint cannot be read: {error!r}", way_out="--dra-depth=wire"
        ) from error
    for claim in claims:
        for state in (claim.get("DriverState") or {}).values():
            yield from state.get("Devices") or ()
