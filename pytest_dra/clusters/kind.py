"""The ``kind`` cluster: made for a run by the ``kind`` command, and deleted whatever happens."""

from __future__ import annotations

import dataclasses
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.kindconfig import merged
from pytest_dra.clusters.kindconfig import read_config
from pytest_dra.clusters.kindconfig import written
from pytest_dra.clusters.kindending import ending
from pytest_dra.clusters.kindrecords import KindRecords
from pytest_dra.clusters.kindtool import KindTool
from pytest_dra.clusters.nodelogs import logs_of
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.launch import Keeper
from pytest_dra.launch.inherited import inherited
from pytest_dra.launch.tool import python_path
from pytest_dra.spec import Depth

PREFIX: Final = "pytest-dra-"
"""Begins the name of each cluster that a run makes, by which ``--dra-cleanup`` knows them."""

NAME_BYTES: Final = 3
"""Random part of a name: apart from those of other runs on this machine."""

NODES_MAX: Final = 8
"""Nodes of a cluster: each takes half a gigabyte."""

NAME_MAX: Final = 50
"""Characters of a name; longer ones make host names that are too long."""

NAME: Final = re.compile(rf"[a-z0-9]([-a-z0-9.]{{0,{NAME_MAX - 2}}}[a-z0-9])?")
"""What kind takes as a name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KindSettings:
    """What is wanted of a cluster. ``image`` "": the one that kind brings. ``reuse``: the name of a
    cluster that exists, which is not deleted. ``keep``: the new one stays; with ``reuse`` it gets
    that name, where there is none yet."""

    image: str = ""
    nodes: int | None = None
    config: Path | None = None
    reuse: str = ""
    keep: bool = False
    feature_gates: Mapping[str, bool] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    runtime_config: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )


class KindCluster:
    """See :class:`pytest_dra.clusters.whole.WholeCluster`.

    Args:
        settings: what is wanted.
        tool: the ``kind`` command.
        engine: the container engine that kind uses.
        keeper: deletes the cluster if this process cannot.
    """

    provider = "kind"
    depth = Depth.CLUSTER

    def __init__(
        self, settings: KindSettings, *, tool: KindTool, engine: Engine, keeper: Keeper
    ) -> None:
        self.name = settings.reuse or f"{PREFIX}{secrets.token_hex(NAME_BYTES)}"
        self.ours = not settings.reuse
        self.ends = self.ours and not settings.keep
        self.engine = engine
        self._settings = settings
        self._tool = tool
        self._keeper = keeper
        self._records = KindRecords()
        self._directory: Path | None = None
        self._client: Client | None = None

    def start(self) -> None:
        """Create the cluster, or find the one that is reused. Raises ClusterError."""
        self.engine.must_answer()
        self._tool.must_be_new_enough()
        directory = Path(tempfile.mkdtemp(prefix="dra-kind-"))
        self._keeper.own_directory(directory)
        self._directory = directory
        if self._is_there():
            self._tool.write_kubeconfig(self.name, self.admin_kubeconfig())
        else:
            self.ours = True
            self._create(directory)

    def _is_there(self) -> bool:
        """True for a cluster that is reused, False for one to be made. Raises ClusterError."""
        settings = self._settings
        known = self._tool.clusters() if settings.reuse else []
        if self.name in known or not settings.reuse:
            return bool(settings.reuse)
        if not settings.keep:
            raise ClusterError(
                f"--dra-reuse={self.name}: kind has no such cluster; it has "
                f"{', '.join(known) or 'none'}. With --dra-keep it is made under this name"
            )
        if not NAME.fullmatch(self.name):
            raise ClusterError(
                f"--dra-reuse={self.name}: no name for a new cluster: want at most {NAME_MAX} "
                "small letters, digits, dots and dashes, a letter or digit at both ends"
            )
        return False

    def _create(self, directory: Path) -> None:
        settings = self._settings
        config = merged(
            read_config(settings.config) if settings.config else {},
            nodes=settings.nodes,
            feature_gates=settings.feature_gates,
            runtime_config=settings.runtime_config,
        )
        kubeconfig = self.admin_kubeconfig()
        delete = self._tool.delete_argv(self.name, Path(os.devnull))
        if not settings.keep:
            self._records.note(self.name)
            self._promise(ending(self.name, delete))
        self._tool.create(
            self.name,
            image=settings.image,
            config=written(config, directory / "kind.yaml"),
            kubeconfig=kubeconfig,
            keeper=self._keeper,
            log=directory / "kind.log",
        )
        if not settings.keep:
            self._promise(delete)

    def _promise(self, argv: list[str]) -> None:
        env = {**inherited(), **self._tool.environment, "PYTHONPATH": python_path()}
        self._keeper.run_at_end(self.name, argv, env=env)

    def stop(self) -> None:
        """Delete the cluster if it is ours and not kept. Raises ClusterError."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
        directory, self._directory = self._directory, None
        if directory is None or not self.ends:
            return
        self._tool.delete(self.name, directory / "kubeconfig")
        self._keeper.forget(self.name)
        self._records.forget(self.name)

    def admin(self) -> Client:
        """The administrator that kind has made."""
        if self._client is None:
            self._client = Client(self.admin_kubeconfig())
        return self._client

    def admin_kubeconfig(self) -> Path:
        """The kubeconfig that kind has written, in a private directory."""
        if self._directory is None:
            raise RuntimeError("the cluster is not running: start it first")
        return self._directory / "kubeconfig"

    def load(self, image: str) -> bool:
        """Give an image of the local engine to all nodes. Raises ClusterError."""
        if not self.engine.has_image(image):
            return False
        self._tool.load_image(self.name, image)
        return True

    def load_archive(self, file: Path) -> None:
        """Give an image archive to all nodes. Raises ClusterError."""
        self._tool.load_archive(self.name, file)

    def on_node(self, node: str, argv: Sequence[str], *, timeout_s: float) -> str:
        """Run a command in the container that is the node. Raises ToolError."""
        return self.engine.inside(node, argv, timeout_s=timeout_s)

    def logs(self) -> str:
        """The ends of what the nodes' consoles, kubelets and containerds say."""
        return logs_of(self.engine, self.name)
