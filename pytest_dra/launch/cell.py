"""Puts its own process into a mount namespace with private directories, then becomes the driver.

A script of its own, standard library only, run as ``python -I -S cell.py PLAN [PROGRAM ARGUMENT
...]``. PLAN is a JSON list of ``{"inside", "outside", "read_only"}``: what is seen at the absolute
path ``inside``; ``outside`` is a file or directory, or null for an empty directory that cannot be
written. With ``watched`` it is the host's directory, but what is made in it lies in memory.
Without PROGRAM everything is arranged and given up again. A process that cannot be jailed says why
in one line on standard error and exits with :data:`REFUSED` or :data:`UNUSABLE`.

``cell.py read-only|writable INSIDE PID`` changes whether a process that is jailed already can write
at a path of its plan.

Where the host has no such path, the nearest directory above it is covered by a file system in
memory that shows all it had before, and the path in addition. It can not be written: what a driver
makes there would be lost with its process, silently.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

REFUSED = 125
"""Exit code where the kernel refuses a jail; programs that become another one use it alike."""

UNUSABLE = 126
"""Exit code where a path or the program cannot be used; a shell's for such a program."""

READ_ONLY = "read-only"
WRITABLE = "writable"
"""What a path can be made in a process that is jailed already."""

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
"""From linux/sched.h."""

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_SLAVE = 1 << 19
"""From linux/mount.h; those below 16 are the same in statvfs."""

PR_SET_PDEATHSIG = 1
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
"""From linux/prctl.h."""

CAPABILITIES = range(64)
"""All that a process can have; the kernel keeps them in 64 bits."""

ENTRY_LIMIT = 4096
"""Most entries of a covered directory, each of which costs a mount (the kernel allows 100,000)."""

_libc = ctypes.CDLL(None, use_errno=True)


class Refusal(Exception):
    """The kernel refuses the jail; the text says at what."""


class Unusable(Exception):
    """A path cannot be what the plan wants it to be; the text says why."""


def check(result: int, what: str) -> None:
    """Raise a refusal if a function of libc has failed."""
    if result != 0:
        raise Refusal(f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, *, flags: int, kind: str = "", data: str = "") -> None:
    """mount(2).

    Raises:
        Refusal: the kernel refuses.
    """
    texts = [os.fsencode(text) for text in (source, target, kind, data)]
    result = _libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3])
    check(result, f"mounting at {target}")


def separate() -> None:
    """Move this process into a mount namespace; where that takes it, into a user namespace too.

    In the user namespace user and group are the same as outside, so that a driver is what it would
    be without the jail, and has no privilege after its start that it had not before.

    Raises:
        Refusal: the kernel allows neither.
    """
    parent, user, group = os.getppid(), os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWNS) != 0:
        held = {number for number in CAPABILITIES if _libc.prctl(PR_CAPBSET_READ, number) == 1}
        check(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "making a user and mount namespace")
        try:
            # Without this the kernel accepts no map of groups.
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        except OSError as error:
            raise Refusal(f"mapping user {user} to itself: {error.strerror}") from error
        for number in set(CAPABILITIES) - held:
            # What root of a container lacks he would have in a namespace of his own.
            _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    # A slave and not private: what the host unmounts later must not be held by us.
    mount("", "/", flags=MS_REC | MS_SLAVE)
    # New credentials can cost the signal that the keeper has asked for.
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise Unusable("the keeper has ended")


class Cell:
    """The file systems of one process, while they are arranged."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.watched: set[str] = set()
        self.devices: set[int] = set()

    def arrange(self, plan: list[dict[str, Any]]) -> None:
        """Make everything of the plan visible, outer paths first.

        Raises:
            Refusal: the kernel refuses.
            Unusable: a path is not what it should be.
        """
        # Opened before anything is mounted: one path may come to lie over the source of another.
        sources = {item["inside"]: open_source(item["outside"]) for item in plan}
        for item in sorted(plan, key=lambda item: os.path.realpath(item["inside"])):
            source = sources[item["inside"]]
            spot = os.path.realpath(item["inside"])
            if item.get("watched"):
                if Path(spot).is_dir():
                    self._show_again(spot)
                    self.watched.add(spot)
                continue
            self._make_room(Path(spot), directory=source is None or is_directory(source))
            if source is None:
                self._cover(spot, mode=0o755)
                continue
            mount(f"/proc/self/fd/{source}", spot, flags=MS_BIND | MS_REC)
            os.close(source)
            if item["read_only"]:
                forbid_writing(spot)
        for path in self.made:
            if path not in self.watched:
                forbid_writing(path)

    def _make_room(self, spot: Path, *, directory: bool) -> None:
        if os.path.lexists(spot):
            if spot.is_dir() != directory:
                raise Unusable(f"{spot} is {'no' if directory else 'a'} directory")
            return
        above = spot.parent
        while not os.path.lexists(above):
            above = above.parent
        if above.stat().st_dev not in self.devices:
            if above == above.parent:
                # What covers / is not seen by who is in it already.
                raise Unusable(f"{spot} cannot be made, as its first directory does not exist")
            self._show_again(str(above))
        (spot if directory else spot.parent).mkdir(mode=0o755, parents=True, exist_ok=True)
        if not directory:
            spot.touch()

    def _cover(self, path: str, *, mode: int) -> None:
        flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
        mount("tmpfs", path, kind="tmpfs", flags=flags, data=f"mode={mode:o}")
        self.made.append(path)
        self.devices.add(Path(path).stat().st_dev)

    def _show_again(self, path: str) -> None:
        below = os.open(path, os.O_PATH | os.O_DIRECTORY)
        with os.scandir(path) as found:
            names = [entry.name for entry in itertools.islice(found, ENTRY_LIMIT + 1)]
        if len(names) > ENTRY_LIMIT:
            raise Unusable(f"{path} has more than {ENTRY_LIMIT} entries")
        self._cover(path, mode=stat.S_IMODE(os.fstat(below).st_mode))
        for name in names:
            show(f"/proc/self/fd/{below}/{name}", f"{path}/{name}")
        os.close(below)


def show(old: str, new: str) -> None:
    """Make what lies at ``old`` visible at ``new``: a link as a link, anything else itself."""
    try:
        about = os.lstat(old)
        if stat.S_ISLNK(about.st_mode):
            Path(new).symlink_to(Path(old).readlink())
            return
    except FileNotFoundError:
        # Of a living system: removed since it was listed.
        return
    if stat.S_ISDIR(about.st_mode):
        Path(new).mkdir()
    else:
        Path(new).touch()
    mount(old, new, flags=MS_BIND | MS_REC)


def open_source(path: str | None) -> int | None:
    """A descriptor of what is to be mounted.

    Raises:
        Unusable: it is a link, as a driver can make of it: where that leads is not ours.
    """
    if path is None:
        return None
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    if stat.S_ISLNK(os.fstat(descriptor).st_mode):
        raise Unusable(f"{path} was replaced by a link")
    return descriptor


def is_directory(descriptor: int) -> bool:
    """True for a descriptor of a directory."""
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def forbid_writing(path: str) -> None:
    """Make the mount at ``path`` read-only."""
    # Flags of the host's mount stay, as a user namespace has to keep them.
    kept = os.statvfs(path).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("", path, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def jail(plan: list[dict[str, Any]]) -> None:
    """Jail this process.

    Raises:
        Refusal: the kernel refuses.
        Unusable: a path is not what it should be.
    """
    try:
        here = Path.cwd()
        separate()
        Cell().arrange(plan)
        # The old one leads around what was mounted over it.
        os.chdir(here)
    except OSError as error:
        raise Unusable(f"{error.filename}: {error.strerror}") from error


def become(argv: list[str]) -> None:
    """Run a program in place of this one, with the environment and signals that we were given.

    Raises:
        Unusable: it cannot be executed.
    """
    # Not os.environ: with a plain C locale the interpreter adds variables of its own.
    given = Path("/proc/self/environ").read_bytes().split(b"\0")
    env = dict(entry.split(b"=", 1) for entry in given if b"=" in entry)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        # The interpreter ignores these, and that would pass on.
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(argv[0], argv, env)  # noqa: S606 - to become it, without a shell, is the purpose
    except OSError as error:
        raise Unusable(f"{argv[0]}: {error.strerror}") from error


def enter(pid: str) -> None:
    """Move this process into the namespaces of a jailed one.

    Raises:
        Refusal: the kernel refuses.
        OSError: the process has ended.
    """
    # A user namespace gives the right to enter the other one.
    for name in ("user", "mnt"):
        descriptor = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_ino != Path(f"/proc/self/ns/{name}").stat().st_ino:
                check(_libc.setns(descriptor, 0), f"entering the {name} namespace of {pid}")
        finally:
            os.close(descriptor)


def change(how: str, inside: str, pid: str) -> None:
    """Forbid or allow writing at a path of the plan in a process that is jailed already.

    Raises:
        Refusal: the kernel refuses, or the process sees the same file systems as we do.
    """
    own = Path("/proc/self/ns/mnt").stat().st_ino
    try:
        # Before it is entered: a container has a /proc in which we are not.
        if Path(f"/proc/{pid}/ns/mnt").stat().st_ino == own:
            raise Refusal(f"process {pid} is not jailed")
        enter(pid)
    except (FileNotFoundError, ProcessLookupError):
        return
    except OSError as error:
        raise Refusal(f"process {pid}: {error.strerror}") from error
    spot = os.path.realpath(inside)
    try:
        if how == READ_ONLY:
            forbid_writing(spot)
        else:
            kept = os.statvfs(spot).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
            mount("", spot, flags=MS_REMOUNT | MS_BIND | kept)
    except OSError as error:
        raise Refusal(f"{spot} of process {pid}: {error.strerror}") from error


def main(plan: str, *argv: str) -> int:
    """Jail, then run; returns an exit code only if there is nothing to run or it failed."""
    try:
        if plan in (READ_ONLY, WRITABLE):
            change(plan, *argv)
            return 0
        jail(json.loads(plan))
        if argv:
            become(list(argv))
    except (Refusal, Unusable) as error:
        os.write(2, f"--dra-jail: {error}\n".encode(errors="replace"))
        return REFUSED if isinstance(error, Refusal) else UNUSABLE
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
