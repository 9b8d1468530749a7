"""The ``kind`` command: one method per thing that is asked of it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_dra.clusters.engine import DOCKER
from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.nodelogs import logs_of
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.remedies import remedied
from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.launch.inherited import inherited
from pytest_dra.launch.tool import ERROR_TAIL
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import call
from pytest_dra.launch.tool import find
from pytest_dra.waiting import Deadline

KIND: Final = "kind"

PROVIDER: Final = "KIND_EXPERIMENTAL_PROVIDER"
"""Variable by which kind is told of another engine than Docker."""

OLDEST: Final = (0, 31)
"""First kind whose kubeadm configuration Kubernetes 1.37 reads."""

ANSWER_S: Final = 30.0
"""Longest wait for short answers."""

CREATE_S: Final = 600.0
"""Longest creation: a node image may have to be pulled first."""

READY_S: Final = 180
"""Seconds that kind itself waits for the nodes."""

DELETE_S: Final = 120.0
"""Longest deletion; ten seconds for two nodes."""

LOAD_S: Final = 300.0
"""Longest load of an image into all nodes."""

LOG_MAX: Final = 1 << 20
"""Bytes of kind's own output that are read: that of kubeadm takes 40 kB."""

_NOISE = re.compile(r"[IWE]\d{4} \d\d:|\s*$|\S+$|\t\S+\.(?:go|s):\d| [•✓] |\[[a-z-]+\] ")
"""Begins lines that say nothing of the reason: progress of kind and kubeadm, requests of the
latter, and traces of its functions, whose names are one word."""

_VERSION = re.compile(r"v?(\d+)\.(\d+)")


def essence(output: str) -> str:
    """What kind said in the end, without its progress and the stack of kubeadm's functions."""
    kept = [line for line in output.splitlines() if not _NOISE.match(line)]
    return "\n".join(kept)[-ERROR_TAIL:].strip()


class KindTool:
    """See the module; every method raises ClusterError with what to do, where that is known."""

    def __init__(self, program: str, engine: Engine) -> None:
        self.program = program
        self.engine = engine
        self._env = {} if engine.name == DOCKER else {PROVIDER: engine.name}

    def version(self) -> str:
        """What ``kind version`` says."""
        return self._call("version").strip()

    def must_be_new_enough(self) -> None:
        """Raises ClusterError for a kind that cannot make clusters of the versions served here."""
        said = self.version()
        found = _VERSION.search(said.partition(KIND)[2] or said)
        if found and (int(found[1]), int(found[2])) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise ClusterError(f"{said}: too old; install kind {oldest} or newer")

    def clusters(self) -> list[str]:
        """Names of all clusters."""
        return [line for line in self._call("get", "clusters").split() if line]

    def create(
        self, name: str, *, image: str, config: Path, kubeconfig: Path, keeper: Keeper, log: Path
    ) -> None:
        """Make a cluster and wait for its nodes; half a one that fails is deleted.

        The command is the keeper's, so that it does not go on where this process has ended. It
        leaves the nodes of a cluster that fails, whose logs tell why.
        """
        arguments = ["--name", name, "--config", str(config), "--kubeconfig", str(kubeconfig)]
        arguments.append("--retain")
        if image:
            arguments += ["--image", image]
        arguments += ["--wait", f"{READY_S}s"]
        argv = [self.program, "create", "cluster", *arguments]
        try:
            made = keeper.spawn(argv, env={**inherited(), **self._env}, cwd=Path.cwd(), log=log)
        except LaunchError as error:
            raise ClusterError(f"kind create cluster: {error}") from error
        code = made.wait(Deadline.after(CREATE_S))
        if code is None:
            made.kill()
        if code != 0:
            how = f"failed with status {code}" if code is not None else "has not ended in time"
            said = essence(made.log_tail(LOG_MAX))
            logs = logs_of(self.engine, name)
            with suppress(ClusterError):
                self.delete(name, kubeconfig)
            failed = ToolError(f"kind create cluster {how}: {said}", code=code, said=said)
            raise remedied(failed, logs=logs)

    def delete_argv(self, name: str, kubeconfig: Path) -> list[str]:
        """What deletes a cluster, for somebody else to run."""
        return [self.program, "delete", "cluster", "--name", name, "--kubeconfig", str(kubeconfig)]

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the command needs."""
        return dict(self._env)

    def delete(self, name: str, kubeconfig: Path) -> None:
        """Delete a cluster; nothing if there is none."""
        self._call(*self.delete_argv(name, kubeconfig)[1:], timeout_s=DELETE_S)

    def write_kubeconfig(self, name: str, file: Path) -> None:
        """Write the kubeconfig of a cluster that exists."""
        self._call("export", "kubeconfig", "--name", name, "--kubeconfig", str(file))

    def nodes(self, name: str) -> list[str]:
        """Names of the nodes' containers, which are those of the nodes."""
        return self._call("get", "nodes", "--name", name).split()

    def load_archive(self, name: str, file: Path) -> None:
        """Load an image archive into all nodes."""
        self._call("load", "image-archive", str(file), "--name", name, timeout_s=LOAD_S)

    def load_image(self, name: str, image: str) -> None:
        """Load an image that the engine has into all nodes."""
        self._call("load", "docker-image", image, "--name", name, timeout_s=LOAD_S)

    def _call(self, *arguments: str, timeout_s: float = ANSWER_S) -> str:
        try:
            return call([self.program, *arguments], timeout_s=timeout_s, env=self._env)
        except ToolError as error:
            raise remedied(error) from error


def find_kind(wanted: str, engine: Engine) -> KindTool:
    """The command by name or path.

    Raises:
        ClusterError: there is none; with what to do.
    """
    path = find(wanted or KIND)
    if path is None:
        raise ClusterError(
            f"no {wanted or KIND!r} on PATH. Install kind {'.'.join(map(str, OLDEST))} or newer, "
            "or use --dra-cluster=kubeconfig:CONTEXT, or --dra-cluster=embedded, which needs none"
        )
    return KindTool(path, engine)
