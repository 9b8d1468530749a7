"""What is to be run: a command line, its placeholders and its environment."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import string
from collections.abc import Mapping
from pathlib import Path

from pytest_dra.launch.containerspec import ContainerSpec
from pytest_dra.launch.error import LaunchError
from pytest_dra.launch.filling import fill
from pytest_dra.launch.inherited import inherited

KUBE_API_QPS = "1000"
KUBE_API_BURST = "2000"
"""Client-side limits for drivers that read them: with the usual 5 and 10 a driver waits for its own
client and not for anything that is tested (dra-example-driver: 200 ms for each further Prepare)."""

NOT_INHERITED_PREFIXES = ("PYTEST_", "PYTEST_DRA_")
"""Variables for pytest and for us are none of the driver's business."""

NOT_INHERITED = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""In a CI pod these would lead a driver to the cluster that runs the CI."""


@dataclasses.dataclass(frozen=True, slots=True)
class Component:
    """One process of a driver.

    ``command`` and the values of ``env`` may hold placeholders such as ``{registry_dir}``; ``{{``
    and ``}}`` are braces. ``registers``: it is expected to appear in the registry directory.
    ``container``: it runs in one, and ``command`` is what its image is given.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    registers: bool = True
    container: ContainerSpec | None = None

    def uses(self, placeholder: str) -> bool:
        """True if a command or a variable holds the placeholder."""
        return any(
            name == placeholder
            for text in (*self.command, *self.env.values())
            for _, name, _, _ in string.Formatter().parse(text)
        )

    def filled(self, values: Mapping[str, str]) -> Component:
        """A copy with all placeholders replaced.

        Raises:
            LaunchError: an unknown placeholder, a lone brace, or an empty command.
        """
        if not self.command and self.container is None:
            raise LaunchError(f"the command of component {self.name!r} is empty")
        where = f"component {self.name!r}"
        return dataclasses.replace(
            self,
            command=tuple(fill(part, values, where=where) for part in self.command),
            env={
                name: fill(text, values, where=f"{where}, variable {name}")
                for name, text in self.env.items()
            },
            container=self.container and self.container.filled(values, where=where),
        )


def parse_command_line(text: str) -> tuple[str, ...]:
    """Split a command line like a shell does, without running one.

    Raises:
        LaunchError: an unbalanced quote, or nothing at all.
    """
    try:
        made = tuple(shlex.split(text))
    except ValueError as error:
        raise LaunchError(f"the command line {text!r} cannot be split: {error}") from error
    if not made:
        raise LaunchError("the command line is empty")
    return made


KUBECONFIG = "KUBECONFIG"
"""The variable that says where the API server is."""


def environment(
    values: Mapping[str, str],
    own: Mapping[str, str],
    *,
    given: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of a component: the user's, then the well-known variables, then its own.

    Args:
        values: one value for each of ``profile.PLACEHOLDERS``.
        own: the component's variables, already filled; they win.
        given: the user's environment, this process's if None.
    """
    made = {
        name: text
        for name, text in (given if given is not None else inherited()).items()
        if not name.startswith(NOT_INHERITED_PREFIXES) and name not in NOT_INHERITED
    }
    made.update(variables(values))
    made.update(own)
    return made


def variables(values: Mapping[str, str]) -> dict[str, str]:
    """The well-known variables, from one value for each of ``profile.PLACEHOLDERS``."""
    return {
        KUBECONFIG: values["kubeconfig"],
        "NODE_NAME": values["node"],
        "CDI_ROOT": values["cdi_dir"],
        "STATIC_CDI_ROOT": values["static_cdi_dir"],
        "KUBELET_REGISTRAR_DIRECTORY_PATH": values["registry_dir"],
        "KUBELET_PLUGINS_DIRECTORY_PATH": values["plugins_dir"],
        "POD_UID": values["pod_uid"],
        "KUBE_API_QPS": KUBE_API_QPS,
        "KUBE_API_BURST": KUBE_API_BURST,
    }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What is executed for a component. ``shown``: the command for people, without secrets;
    ``container``: the name of the one that it runs in."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    shown: str
    container: str = ""


def ready_here(
    component: Component, *, values: Mapping[str, str], account: Mapping[str, str], cwd: Path
) -> Ready:
    """A component as a process of this machine.

    Args:
        component: with placeholders.
        values: one value for each of ``profile.PLACEHOLDERS``.
        account: variables of a pod, if the driver finds the API server as from within one.
        cwd: where a relative command is looked for.

    Raises:
        LaunchError: a placeholder is unknown, or the program cannot be run.
    """
    filled = component.filled(values)
    env = environment(values, {**account, **filled.env})
    if account and KUBECONFIG not in filled.env:
        # many clients would take it first, and in a pod there is none
        del env[KUBECONFIG]
    argv = (find_program(filled, env, cwd=cwd), *filled.command[1:])
    return Ready(argv=argv, env=env, shown=" ".join(argv))


def find_program(component: Component, env: Mapping[str, str], *, cwd: Path) -> str:
    """The path of the program that a filled component runs.

    Raises:
        LaunchError: it does not exist, is a directory, or is not executable.
    """
    program = component.command[0]
    where = f"component {component.name!r}: command {program!r}"
    if "/" not in program:
        found = shutil.which(program, path=env.get("PATH", os.defpath))
        if found is None:
            raise LaunchError(f"{where} not found in PATH")
        return str(cwd / found)
    path = cwd / program
    if not path.exists():
        raise LaunchError(f"{where} not found ({path} does not exist)")
    if path.is_dir():
        raise LaunchError(f"{where} is a directory")
    if not os.access(path, os.X_OK):
        raise LaunchError(f"{where} is not executable; try: chmod +x {shlex.quote(str(path))}")
    return str(path)
