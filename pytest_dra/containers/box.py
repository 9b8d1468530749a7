"""The containers of a driver on one node of the bench: what they see, and how they are run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pytest_dra.containers.fleet import Fleet
from pytest_dra.containers.hostpaths import Bind
from pytest_dra.containers.hostpaths import HostPaths
from pytest_dra.containers.process import Contained
from pytest_dra.embedded.incluster import ACCOUNT_DIR
from pytest_dra.launch import Component
from pytest_dra.launch import LaunchError
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.component import KUBECONFIG
from pytest_dra.launch.component import Ready
from pytest_dra.launch.component import variables
from pytest_dra.launch.containerspec import Mount
from pytest_dra.launch.process import Process
from pytest_dra.launch.view import CDI_DIR
from pytest_dra.launch.view import KUBELET_DIR
from pytest_dra.launch.view import PLUGINS_DIR
from pytest_dra.launch.view import REGISTRY_DIR
from pytest_dra.launch.view import STATIC_CDI_DIR
from pytest_dra.launch.view import View

KUBECONFIG_INSIDE: Final = "/etc/pytest-dra/kubeconfig"
"""Where the kubeconfig is for a command that asks for it by its placeholder."""

ALWAYS: Final = (
    "run",
    "--rm",
    "--network=host",
    "--userns=host",
    "--pull=never",
    "--log-driver=none",
    "--security-opt=label=disable",
    "--stop-timeout=0",
)
"""Host network: the API server is on loopback. Host users: the node's directories are ours. No log
of the engine's own, which has no bound. No SELinux labels: our directories keep theirs. No time to
stop, which Podman else grants before it removes a container by force."""

UNFIT: Final = re.compile(r'[,"\n\0]')
"""What a path in ``--mount`` cannot hold."""

_NOT_FOR_NAMES: Final = re.compile(r"[^a-z0-9-]+")


class Box(View):
    """See the module; a lodging of :class:`pytest_dra.launch.Driver`.

    Args:
        directories: of the node.
        fleet: of the run.
        writable: further paths that are the driver's own, by what they are outside.
        trees: what is seen at further paths, and cannot be written.
        account: directory with the files of the pod's ServiceAccount.
    """

    def __init__(
        self,
        directories: NodeDirectories,
        *,
        fleet: Fleet,
        writable: Mapping[str, Path] = MappingProxyType({}),
        trees: Mapping[str, Path] = MappingProxyType({}),
        account: Path,
    ) -> None:
        usual: dict[str, Path | None] = {
            KUBELET_DIR: None,
            REGISTRY_DIR: directories.registry_dir,
            PLUGINS_DIR: directories.plugins_dir,
            CDI_DIR: directories.cdi_dir,
            STATIC_CDI_DIR: directories.static_cdi_dir,
        }
        super().__init__(directories, {**usual, **writable})
        self._fleet = fleet
        self._usual = tuple(
            Mount(inside=path, host=path) for path, place in self._places.items() if place
        )
        self._trees = trees
        self._account = account
        self._mounts: Sequence[Mount] = self._usual
        self._host = HostPaths(self._places, directories)

    def wipe(self) -> None:
        """Empty what the pods have had for themselves."""
        self._host.wipe()

    @contextmanager
    def read_only(self, inside: str, pids: Sequence[int]) -> Iterator[None]:
        """As in a jail; ``inside`` is a path of the node, which may be elsewhere in a container."""
        with super().read_only(_within(inside, self._mounts), pids):
            yield

    def made_outside(self, pids: Sequence[int]) -> list[str]:
        """Nothing: what is not mounted is the container's own."""
        return []

    def ready(
        self,
        component: Component,
        *,
        values: Mapping[str, str],
        account: Mapping[str, str],
        cwd: Path,
    ) -> Ready:
        """The engine's command that runs the component in the foreground.

        Raises:
            LaunchError: a placeholder is unknown, or a mount is not possible.
        """
        given = component.container.mounts if component.container else None
        mounts = self._usual if given is None else given
        inside = self._values_inside(values, mounts)
        filled = component.filled(inside)
        spec = filled.container
        if spec is None:
            raise LaunchError(f"component {component.name!r} has no container")
        wants_file = component.uses("kubeconfig")
        env = {**variables(inside), **account, **filled.env}
        if not wants_file and KUBECONFIG not in filled.env:
            # in a pod there is none
            del env[KUBECONFIG]
        binds = [*self._binds(mounts, Path(values["kubeconfig"]) if wants_file else None)]
        if component.registers:
            self._mounts = mounts
        name = self._fleet.name(_NOT_FOR_NAMES.sub("-", component.name.lower()))
        argv = (
            *(self._fleet.engine.program, *ALWAYS, f"--name={name}"),
            f"--label={self._fleet.mark}",
            *(word for bind in binds for word in ("--mount", _mount(bind))),
            *(word for key, text in env.items() for word in ("--env", f"{key}={text}")),
            *spec.options,
            *([f"--user={self._fleet.user}"] if self._fleet.user else []),
            *([f"--entrypoint={spec.entrypoint}"] if spec.entrypoint else []),
            spec.image,
            *filled.command,
        )
        shown = " ".join((spec.image, spec.entrypoint, *filled.command)).replace("  ", " ")
        return Ready(argv=argv, env=dict(os.environ), shown=shown, container=name)

    def begun(self, process: Process, ready: Ready) -> Process:
        """The container's process, once it runs.

        Raises:
            LaunchError: the engine cannot run it; with its words.
        """
        contained = Contained(process, engine=self._fleet.engine, name=ready.container)
        try:
            contained.begin()
        except BaseException:
            contained.kill()
            raise
        return contained

    def _binds(self, mounts: Sequence[Mount], kubeconfig: Path | None) -> Iterator[Bind]:
        given = {mount.inside.rstrip("/") for mount in mounts}
        if ACCOUNT_DIR not in given:
            yield Bind(source=self._account, inside=ACCOUNT_DIR, read_only=True)
        if kubeconfig is not None:
            yield Bind(source=kubeconfig, inside=KUBECONFIG_INSIDE, read_only=True)
        for mount in mounts:
            yield from self._host.binds(mount)
        for path, tree in self._trees.items():
            yield Bind(source=tree, inside=_within(path, mounts), read_only=True)

    def _values_inside(self, values: Mapping[str, str], mounts: Sequence[Mount]) -> dict[str, str]:
        """The placeholders of the node as paths of the container."""
        name = Path(values["driver_dir"]).name
        return {
            **values,
            "kubeconfig": KUBECONFIG_INSIDE,
            "registry_dir": _within(REGISTRY_DIR, mounts),
            "plugins_dir": _within(PLUGINS_DIR, mounts),
            "driver_dir": _within(f"{PLUGINS_DIR}/{name}", mounts),
            "cdi_dir": _within(CDI_DIR, mounts),
            "static_cdi_dir": _within(STATIC_CDI_DIR, mounts),
        }


def _within(path: str, mounts: Sequence[Mount]) -> str:
    """Where a path of the node is in a container; where it always is, if it is not mounted."""
    best = max(
        (each for each in mounts if each.host and _is_at_or_below(path, each.host)),
        key=lambda each: len(each.host),
        default=None,
    )
    return best.inside + path[len(best.host) :] if best is not None else path


def _is_at_or_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")


def _mount(bind: Bind) -> str:
    for path in (str(bind.source), bind.inside):
        if UNFIT.search(path):
            raise LaunchError(f"the path {path!r} cannot be mounted into a container")
    ending = ",readonly" if bind.read_only else ""
    return f"type=bind,source={bind.source},target={bind.inside}{ending}"
