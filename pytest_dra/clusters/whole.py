"""What cases may do to a whole cluster: real nodes, a real kubelet, scheduler and runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pytest_dra.kube import Client
from pytest_dra.spec import Depth


class WholeCluster(Protocol):
    """A cluster whose nodes run pods.

    ``name``: by which another process finds it. ``provider`` is kind or kubeconfig; ``ours`` is
    true if this run has made it, so that what disturbs others disturbs nobody. ``ends``: it goes
    with the run, and everything on it.
    """

    name: str
    provider: str
    depth: Depth
    ours: bool
    ends: bool

    def start(self) -> None:
        """Make it or find it; returns when it answers. Raises ClusterError."""

    def stop(self) -> None:
        """End what this run started, in bounded time; calling it twice is fine."""

    def admin(self) -> Client:
        """The suite's own identity."""

    def admin_kubeconfig(self) -> Path:
        """A kubeconfig for that identity, for clients of one's own."""

    def load(self, image: str) -> bool:
        """Give an image of the local engine to all nodes; False where that is not possible."""

    def on_node(self, node: str, argv: Sequence[str], *, timeout_s: float) -> str:
        """Run a command on a node as root; its output.

        Raises:
            UnsupportedEnvironment: nobody can, on this cluster.
            ToolError: it fails.
        """

    def logs(self) -> str:
        """The ends of the logs of its nodes; "" where nobody here can read them."""
