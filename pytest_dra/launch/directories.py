"""The directories of one node, private and short enough for Unix sockets."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.launch.error import LaunchError
from pytest_dra.launch.process import Keeper
from pytest_dra.launch.removal import remove
from pytest_dra.launch.removal import restore

SOCKET_PATH_LIMIT = 107
"""Longest path of a Unix socket in bytes (``sun_path`` less its final NUL, unix(7))."""

ROOT_LIMIT = 30
"""Longest path of the root in bytes: ``/reg/``, a driver name of 63 and ``-reg.sock`` fit behind it
(rounded down)."""

ROOT_MODE = 0o700
ROOT_PREFIX = "dra-"
FALLBACK_BASE = Path("/tmp")  # noqa: S108 - only the base of mkdtemp, which makes a private one

MEMORY = Path("/dev/shm")  # noqa: S108 - only the base of mkdtemp, which makes a private one
"""A file system in memory on most machines: what a driver syncs takes no time there, on a disk
most of the time of a call."""

MEMORY_BYTES = 1 << 30
"""Free memory that it must have: a driver that fills its directory shall not be let down sooner
than on a small disk. Containers mostly have 64 MB."""

_NOT_FOR_FILE_NAMES = re.compile(r"[^A-Za-z0-9._-]")
FILE_NAME_LIMIT = 100
"""Longest part of a log's name that comes from a component, well below the 255 of file systems."""


class NodeDirectories:
    """Everything of a node that lies on disk, below one private directory.

    Layout, short because of the socket paths: ``reg`` (registration sockets), ``plug`` (one
    directory for each driver), ``cdi``, ``etc-cdi`` (CDI specs that survive a reboot), ``own``
    (further directories of a jailed driver), ``logs`` and the file ``kubeconfig``.
    """

    def __init__(self, root: Path, *, registry: str = "reg") -> None:
        self.root = root
        self.registry_dir = root / registry
        self.plugins_dir = root / "plug"
        self.cdi_dir = root / "cdi"
        self.static_cdi_dir = root / "etc-cdi"
        self.logs = root / "logs"
        self.kubeconfig = root / "kubeconfig"
        self._keeper: Keeper | None = None

    @classmethod
    def make(
        cls,
        keeper: Keeper,
        *,
        base: Path | None = None,
        in_memory: bool = False,
        registry_bytes: int = 0,
    ) -> NodeDirectories:
        """Make the directories, with mode 0700, to be removed by ``keeper`` at the end.

        Args:
            base: where; the user's directory for temporary files if None, or /tmp if that is
                too long.
            in_memory: the driver is known to keep its files small, so that they may lie in memory
                where that has room and ``TMPDIR`` names no other place.
            registry_bytes: the path of the registry has at least so many bytes.

        Raises:
            LaunchError: no base is short enough, or it cannot be written.
        """
        root = _make_root(keeper, [base] if base is not None else _bases(in_memory=in_memory))
        made = cls(root, registry="reg".ljust(registry_bytes - len(os.fsencode(root)) - 1, "-"))
        made._keeper = keeper
        for directory in (*made._of_drivers, made.logs):
            directory.mkdir(mode=0o755)
        return made

    def driver_dir(self, name: str) -> Path:
        """The directory of one driver, which the driver itself makes.

        Raises:
            LaunchError: ``name`` is no plain file name.
        """
        if not name or "/" in name or "\0" in name or name in (".", ".."):
            raise LaunchError(f"driver name {name!r} cannot be the name of a directory")
        return self.plugins_dir / name

    def make_own(self) -> Path:
        """Make a further directory, for a path that a jailed driver has to itself."""
        own = self.root / "own"
        own.mkdir(mode=0o755, exist_ok=True)
        made = own / str(len(list(own.iterdir())))
        made.mkdir(mode=0o755)
        return made

    def check_sockets(self, driver: str, *, pod_uid: str = "") -> None:
        """Check that the usual sockets of ``driver`` can be made here.

        Args:
            pod_uid: set for a driver that is updated while it runs; then it is part of the names.

        Raises:
            LaunchError: a path is longer than a Unix socket's can be.
        """
        infix = f"-{pod_uid}" if pod_uid else ""
        for path in (
            self.registry_dir / f"{driver}{infix}-reg.sock",
            self.driver_dir(driver) / f"dra{infix}.sock",
        ):
            length = len(os.fsencode(path))
            if length > SOCKET_PATH_LIMIT:
                raise LaunchError(
                    f"the socket path {path} has {length} bytes, a Unix socket at most"
                    f" {SOCKET_PATH_LIMIT}; use a shorter directory (TMPDIR) or driver name"
                )

    def log(self, instance: str, component: str) -> Path:
        """The log file of one component, whatever characters its names have."""
        name = _NOT_FOR_FILE_NAMES.sub("_", f"{instance}-{component}")[:FILE_NAME_LIMIT]
        return self.logs / f"{name}.log"

    def wipe(self) -> None:
        """Let registry, plugins and CDI directories be there and empty; links are not followed.

        The kubeconfig is removed: a driver may have written to it.

        Raises:
            LaunchError: they cannot be.
        """
        self.mend()
        remove(str(self.kubeconfig))
        for directory in self._of_drivers:
            empty(directory)

    def mend(self) -> None:
        """Let be there what is ours alone, should a driver have removed or replaced it.

        Raises:
            LaunchError: it cannot be.
        """
        try:
            if self.root.is_symlink() or not self.root.is_dir():
                self.root.unlink(missing_ok=True)
                self.root.mkdir(mode=ROOT_MODE)
                if self._keeper is not None:
                    self._keeper.own_directory(self.root)
            self.root.chmod(ROOT_MODE)
            if self.logs.is_symlink() or not self.logs.is_dir():
                empty(self.logs)
        except OSError as error:
            raise LaunchError(f"cannot make {error.filename} anew: {error.strerror}") from error

    def make_driver_dir(self, name: str) -> None:
        """Make :meth:`driver_dir`, as a DaemonSet's hostPath mount does, and nothing elsewhere.

        Some drivers expect it to be there.
        """
        directory = self.driver_dir(name)
        with contextlib.suppress(OSError):
            if not self.plugins_dir.is_symlink():
                directory.mkdir(mode=0o755, exist_ok=True)

    def damage(self) -> str:
        """What a driver has done to the directories themselves, in a few words; mostly empty."""
        found = {path.name: _damage_of(path) for path in self._of_drivers}
        return ", ".join(f"directory {name} {why}" for name, why in found.items() if why)

    @property
    def _of_drivers(self) -> tuple[Path, ...]:
        return (self.registry_dir, self.plugins_dir, self.cdi_dir, self.static_cdi_dir)


def _bases(*, in_memory: bool) -> list[Path]:
    """Where the root may be made, best first."""
    usual = [Path(tempfile.gettempdir()), FALLBACK_BASE]
    in_memory = in_memory and not os.environ.get("TMPDIR") and _is_roomy(MEMORY)
    return [MEMORY, *usual] if in_memory else usual


def _is_roomy(directory: Path) -> bool:
    """True if a driver can have its files there, programs among them."""
    try:
        about = os.statvfs(directory)
    except OSError:
        return False
    room = about.f_bavail * about.f_frsize >= MEMORY_BYTES
    return room and not about.f_flag & os.ST_NOEXEC and os.access(directory, os.W_OK | os.X_OK)


def _make_root(keeper: Keeper, bases: Sequence[Path]) -> Path:
    refused: LaunchError | None = None
    for base in bases:
        # mkdtemp adds 8 characters.
        if len(os.fsencode(base / ROOT_PREFIX)) + 8 > ROOT_LIMIT:
            continue
        try:
            root = Path(tempfile.mkdtemp(prefix=ROOT_PREFIX, dir=base))
        except OSError as error:
            refused = LaunchError(f"cannot make a directory in {base}: {error.strerror}")
            continue
        try:
            keeper.own_directory(root)
        except LaunchError:
            root.rmdir()
            raise
        return root
    if refused is not None:
        raise refused
    raise LaunchError(
        f"{' and '.join(str(base) for base in bases)}: too long for the sockets of a driver below"
        f" it, of which a path has at most {SOCKET_PATH_LIMIT} bytes; set TMPDIR to a short one"
    )


def empty(directory: Path) -> None:
    """Let a directory that drivers write to be there and be empty; no link is followed.

    Raises:
        LaunchError: it cannot be.
    """
    try:
        restore(str(directory))
    except OSError as error:
        raise LaunchError(f"cannot empty {directory}: {error.strerror}") from error


def _damage_of(directory: Path) -> str:
    try:
        about = directory.lstat()
        if stat.S_ISLNK(about.st_mode):
            return f"is a link to {str(directory.readlink())!r} now"
    except OSError:
        return "is gone"
    if not stat.S_ISDIR(about.st_mode):
        return "is no directory any more"
    usable = about.st_mode & stat.S_IRWXU == stat.S_IRWXU
    return "" if usable else f"has the mode {stat.S_IMODE(about.st_mode):03o} now"
