"""A node of its own for a driver that uses fixed paths or reads the kernel's boot id."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from pytest_dra.launch import cell
from pytest_dra.launch.component import Component
from pytest_dra.launch.component import Ready
from pytest_dra.launch.component import ready_here
from pytest_dra.launch.directories import NodeDirectories
from pytest_dra.launch.error import LaunchError
from pytest_dra.launch.process import Process
from pytest_dra.launch.view import CDI_DIR
from pytest_dra.launch.view import CELL_SCRIPT
from pytest_dra.launch.view import CHECK_S
from pytest_dra.launch.view import KUBELET_DIR
from pytest_dra.launch.view import PLUGINS_DIR
from pytest_dra.launch.view import REGISTRY_DIR
from pytest_dra.launch.view import STATIC_CDI_DIR
from pytest_dra.launch.view import View
from pytest_dra.launch.view import absolute

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""Where programs look which boot of a machine they are in."""

WATCHED = ("/etc", "/opt", "/srv", "/var/lib")
"""Directories of the host in which a driver has nothing to make: what it makes there lies in
memory, is seen by it alone, and is listed by :meth:`Jail.made_outside`."""

SETTING_BYTES = 32
"""More than the longest value of a kernel setting that is read here."""

HINTS = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "1"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("/proc/sys/user/max_user_namespaces", "0", "1000"),
    ("/proc/sys/user/max_mnt_namespaces", "0", "1000"),
)
"""Kernel settings (Debian's, Ubuntu's, then the kernel's own) that forbid a namespace: file,
forbidding value, value that allows it."""


class Jail(View):
    """Private paths of one node, the same for every component and every start of its driver.

    Inside, the usual directories of kubelet and CDI are ``directories``', of ``/var/lib/kubelet``
    nothing else exists, and the boot id is ours. Paths outside stay valid inside. It is no defence
    against a driver that runs as root and wants out.

    Args:
        directories: of the node.
        extra: further private paths: absolute path inside -> existing file or directory. One of
            the usual paths may be among them, and is then replaced.
        trees: what is seen at further absolute paths and cannot be written, such as a fake
            ``/sys/class/gpu``.

    Raises:
        LaunchError: a path of ``extra`` is relative, ``/`` or the boot id's, or does not exist
            outside.
    """

    def __init__(
        self,
        directories: NodeDirectories,
        *,
        extra: Mapping[str, Path] | None = None,
        trees: Mapping[str, Path] | None = None,
    ) -> None:
        self._trees = _checked(trees or {})
        self._boot_id_file = directories.root / "boot_id"
        usual = {
            REGISTRY_DIR: directories.registry_dir,
            PLUGINS_DIR: directories.plugins_dir,
            CDI_DIR: directories.cdi_dir,
            STATIC_CDI_DIR: directories.static_cdi_dir,
            BOOT_ID: self._boot_id_file,
        }
        super().__init__(directories, _merged(usual, _checked(extra or {})))
        self.boot_id = ""
        self.reboot()

    @staticmethod
    def check(extra: Mapping[str, Path] | None = None) -> str:
        """Try whether a process can be jailed here; about 0.1 s.

        Returns:
            Nothing, or one sentence that says why not and what to do.
        """
        try:
            own = _checked(extra or {})
        except LaunchError as error:
            return str(error)
        usual: dict[str, Path | None] = dict.fromkeys(
            (REGISTRY_DIR, PLUGINS_DIR, CDI_DIR, STATIC_CDI_DIR)
        )
        # Any file will do.
        usual[BOOT_ID] = CELL_SCRIPT
        try:
            done = subprocess.run(
                _command(_merged(usual, own)),
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CHECK_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"--dra-jail cannot be tried: {error}"
        if done.returncode == 0:
            return ""
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("--dra-jail: ")
        out = f"{_way_out()}, or " if done.returncode == cell.REFUSED else ""
        return (
            f"--dra-jail is not possible here: {said or f'exit code {done.returncode}'};"
            f" {out}run without --dra-jail"
        )

    def reboot(self) -> None:
        """Give the node another boot id, which processes see that are started from now on.

        The directories are not touched.

        Raises:
            LaunchError: the file cannot be written.
        """
        boot_id = str(uuid.uuid4())
        # Renamed over the old one: a running process keeps the id of its own boot.
        try:
            with tempfile.NamedTemporaryFile(
                "w", dir=self._directories.root, prefix="boot-", delete=False
            ) as file:
                os.fchmod(file.fileno(), 0o444)
                file.write(f"{boot_id}\n")
            Path(file.name).replace(self._boot_id_file)
        except OSError as error:
            raise LaunchError(
                f"cannot write the boot id {self._boot_id_file}: {error.strerror}"
            ) from error
        self.boot_id = boot_id

    def command(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command that runs ``argv``, a program's path and its arguments, in the jail.

        It becomes that program, with the same process id, environment and signals.
        """
        return (*_command(self._places, self._trees), *argv)

    def ready(
        self,
        component: Component,
        *,
        values: Mapping[str, str],
        account: Mapping[str, str],
        cwd: Path,
    ) -> Ready:
        """What :func:`ready_here` makes of a component, in the jail."""
        here = ready_here(component, values=values, account=account, cwd=cwd)
        return dataclasses.replace(here, argv=self.command(here.argv))

    def begun(self, process: Process, ready: Ready) -> Process:
        """The process as it is; it is that of the program."""
        return process

    def made_outside(self, pids: Sequence[int]) -> list[str]:
        """What jailed processes have made in :data:`WATCHED`; those that have ended are left out.

        Raises:
            LaunchError: a process cannot be looked into.
        """
        found: set[str] = set()
        for pid in pids:
            for directory in WATCHED:
                found.update(self._made_in(directory, Path(f"/proc/{pid}/root{directory}")))
        return sorted(found)

    def _made_in(self, directory: str, seen: Path) -> Iterator[str]:
        try:
            device = seen.stat().st_dev
            with os.scandir(seen) as scan:
                entries = list(itertools.islice(scan, cell.ENTRY_LIMIT))
        except (FileNotFoundError, ProcessLookupError):
            return
        except OSError as error:
            raise LaunchError(f"{seen} cannot be looked into: {error.strerror}") from error
        if device == Path(directory).stat().st_dev:
            return
        for entry in entries:
            path = f"{directory}/{entry.name}"
            own = entry.stat(follow_symlinks=False).st_dev == device
            if own and not os.path.lexists(path) and not self._leads_to_private(path):
                yield path

    def _leads_to_private(self, path: str) -> bool:
        return any(name == path or name.startswith(f"{path}/") for name in self._names)


def _merged(usual: Mapping[str, Path | None], extra: Mapping[str, Path]) -> dict[str, Path | None]:
    replaced = {os.path.realpath(inside) for inside in extra}
    plan = {KUBELET_DIR: None, **usual}
    kept = {
        inside: outside
        for inside, outside in plan.items()
        if os.path.realpath(inside) not in replaced
    }
    return {**kept, **extra}


def _command(
    plan: Mapping[str, Path | None], trees: Mapping[str, Path] = MappingProxyType({})
) -> list[str]:
    items: list[dict[str, object]] = [
        {"inside": inside, "outside": None, "watched": True} for inside in WATCHED
    ]
    items += [
        {"inside": inside, "outside": str(outside), "read_only": True}
        for inside, outside in trees.items()
    ]
    items += [
        {
            "inside": inside,
            "outside": None if outside is None else str(outside),
            "read_only": inside == BOOT_ID,
        }
        for inside, outside in plan.items()
    ]
    return [sys.executable, "-I", "-S", str(CELL_SCRIPT), json.dumps(items)]


def _checked(extra: Mapping[str, Path]) -> dict[str, Path]:
    made = {}
    for inside, outside in extra.items():
        name = absolute(inside)
        if name is None or name in ("/", BOOT_ID):
            raise LaunchError(
                f"--dra-jail: the private path {inside!r} is not an absolute path below /"
                " or is the boot id, which the bench gives"
            )
        real = outside.resolve()
        if not real.exists():
            raise LaunchError(
                f"--dra-jail: {outside}, to be seen as {inside}, does not exist; make it first"
            )
        made[name] = real
    return made


def _way_out() -> str:
    for file, forbids, allows in HINTS:
        if _setting(file) == forbids:
            name = file.removeprefix("/proc/sys/").replace("/", ".")
            return f"{name} is {forbids}: set it to {allows}, run as root"
    return (
        "allow user namespaces or run as root; in a container this takes CAP_SYS_ADMIN"
        " and a profile that allows mounts"
    )


def _setting(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(SETTING_BYTES).decode("ascii", "replace").strip()
    except OSError:
        return ""
