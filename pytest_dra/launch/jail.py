"""A node of its own for a driver that uses fixed paths or reads the kernel's boot id."""

from __future__ import annotations

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
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from pytest_dra.launch import cell
from pytest_dra.launch.directories import NodeDirectories
from pytest_dra.launch.error import LaunchError

CELL_SCRIPT = Path(cell.__file__)

KUBELET_DIR = "/var/lib/kubelet"
REGISTRY_DIR = "/var/lib/kubelet/plugins_registry"
PLUGINS_DIR = "/var/lib/kubelet/plugins"
CDI_DIR = "/var/run/cdi"
STATIC_CDI_DIR = "/etc/cdi"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""Where drivers, kubelets and container runtimes look by default."""

WATCHED = ("/etc", "/opt", "/srv", "/var/lib")
"""Directories of the host in which a driver has nothing to make: what it makes there lies in
memory, is seen by it alone, and is listed by :meth:`Jail.made_outside`."""

NOTHING = "nothing"
"""Name below the node's root of what does not exist; we never make it."""

LINKS = 40
"""Links that are followed in one path, as in the kernel."""

CHECK_S = 20.0
"""Longest trial: an interpreter's start and some hundred mounts on a loaded machine."""

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


class Jail:
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
        self._directories = directories
        self._trees = _checked(trees or {})
        self._boot_id_file = directories.root / "boot_id"
        usual = {
            REGISTRY_DIR: directories.registry_dir,
            PLUGINS_DIR: directories.plugins_dir,
            CDI_DIR: directories.cdi_dir,
            STATIC_CDI_DIR: directories.static_cdi_dir,
            BOOT_ID: self._boot_id_file,
        }
        self._places: dict[str, Path | None] = _merged(usual, _checked(extra or {}))
        # /var/run is a link to /run nearly everywhere, and both names are in use.
        self._names = {os.path.realpath(inside): inside for inside in self._places}
        self._names.update((inside, inside) for inside in self._places)
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

    @property
    def private(self) -> tuple[str, ...]:
        """The private paths as they are called inside, by both names where there are two."""
        return tuple(self._names)

    def outside(self, path: str | os.PathLike[str]) -> Path:
        """Where that lies outside which is at ``path`` inside, decided by name alone.

        ``..`` is resolved first, links of the driver are not. A path in ``/var/lib/kubelet`` that
        does not exist inside leads to one that does not exist outside, never to the host's. What
        is not private stays as it is.
        """
        name = _absolute(os.fspath(path))
        if name is None:
            return Path(path)
        for known in sorted(self._names, key=len, reverse=True):
            if name == known or name.startswith(f"{known}/"):
                place = self._places[self._names[known]] or self._directories.root / NOTHING
                return place / name[len(known) :].lstrip("/")
        return Path(name)

    def reached(self, path: str | os.PathLike[str]) -> Path:
        """Where that lies outside which the driver reaches at ``path``, its links followed.

        ``path`` is one inside, or one outside in the node's directories. A link of the driver that
        leads out of the private paths leads to what does not exist: what is there is not its own.
        """
        inside = self._inside(os.fspath(path))
        if not inside.startswith("/") or "\0" in inside:
            return Path(path)
        current, left, links = "/", inside.split("/")[::-1], 0
        while left:
            part = left.pop()
            if part in ("", ".", ".."):
                current = str(Path(current).parent) if part == ".." else current
                continue
            place = self.outside(f"{current}/{part}")
            if not self._is_private(f"{current}/{part}") or not place.is_symlink():
                current = f"{current}/{part}"
                continue
            links += 1
            target = self._inside(_target(place))
            if links > LINKS or not target:
                return self._directories.root / NOTHING
            current = "/" if target.startswith("/") else current
            left += target.split("/")[::-1]
        if links and not self._is_private(current):
            return self._directories.root / NOTHING
        return self.outside(current)

    def _inside(self, path: str) -> str:
        """The name inside of a path in the node's directories; other paths as they are."""
        for inside, place in self._places.items():
            if place is not None and (path == str(place) or path.startswith(f"{place}/")):
                return inside + path[len(str(place)) :]
        return path

    def _is_private(self, inside: str) -> bool:
        name = _absolute(inside)
        return name is not None and any(
            name == known or name.startswith(f"{known}/") for known in self._names
        )

    @contextmanager
    def read_only(self, inside: str, pids: Sequence[int]) -> Iterator[None]:
        """Jailed processes cannot write at one of the private paths; root neither.

        Those that have ended are left out. Files that are open stay so.

        Raises:
            LaunchError: the kernel refuses.
        """
        for pid in pids:
            _change(cell.READ_ONLY, inside, pid)
        try:
            yield
        except BaseException:
            # What goes wrong on the way back must not hide what has gone wrong before.
            with suppress(LaunchError):
                _change_all(cell.WRITABLE, inside, pids)
            raise
        _change_all(cell.WRITABLE, inside, pids)

    def command(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command that runs ``argv``, a program's path and its arguments, in the jail.

        It becomes that program, with the same process id, environment and signals.
        """
        return (*_command(self._places, self._trees), *argv)

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


def _change_all(how: str, inside: str, pids: Sequence[int]) -> None:
    """Change a mount for all of the processes; the first refusal is told when all were tried."""
    refused: LaunchError | None = None
    for pid in pids:
        try:
            _change(how, inside, pid)
        except LaunchError as error:
            refused = refused or error
    if refused is not None:
        raise refused


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
        name = _absolute(inside)
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


def _absolute(path: str) -> str | None:
    if not path.startswith("/") or "\0" in path:
        return None
    return "/" + os.path.normpath(path).lstrip("/")


def _change(how: str, inside: str, pid: int) -> None:
    command = [sys.executable, "-I", "-S", str(CELL_SCRIPT), how, inside, str(pid)]
    try:
        done = subprocess.run(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CHECK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{inside} cannot be made {how}: {error}") from error
    # A process may end while it is looked at.
    if done.returncode and Path(f"/proc/{pid}").exists():
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("--dra-jail: ")
        raise LaunchError(f"{inside} cannot be made {how} in the jail: {said}")


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


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
