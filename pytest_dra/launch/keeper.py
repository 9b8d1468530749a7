"""Keeps driver processes on behalf of pytest, and leaves nothing behind, however pytest ends.

A script of its own, standard library, ``removal.py`` and ``descent.py`` only, run as ``python -I
-S keeper.py PARENT_PID`` in a session of its own. It reads one JSON object a line from standard
input and answers with one a line on standard output:

``{"seq", "do": "own", "path"}``                               a directory to remove at the end
``{"seq", "do": "spawn", "argv", "env", "cwd", "log", "log_bytes"}``  -> ``{"seq", "id", "pid"}``
``{"seq", "do": "signal", "id", "signal"}``                    to the process group
``{"seq", "do": "kill", "id"}``                                SIGKILL to all that came of it
``{"seq", "do": "at_end", "name", "argv", "env"}``              a command to run at the end
``{"seq", "do": "forget", "name"}``                             not to run it any more
``{"seq", "do": "close"}``                                     end everything; answered at the end

An answer with ``error`` says what went wrong. ``{"event": "exit", "id", "code"}`` reports the end
of a spawned process (code < 0: the signal). End of input, or the end of the parent process, is a
``close``. The keeper adopts what its processes leave behind (it is a child subreaper), so a
daemonised grandchild is found as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import runpy
import selectors
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
"""From linux/prctl.h."""

MARKER = "DRA_KEEPER_ID"
"""Environment variable that tells which spawned process another one came of."""

CHUNK = 1 << 16
"""Bytes read at once: the capacity of a pipe."""

LINE_LIMIT = 16 << 20
"""Longest command line; an environment is a megabyte or two at most (ARG_MAX)."""

REAP_LIMIT_S = 10.0
"""Longest wait for killed processes at the end; only one in uninterruptible sleep takes long."""

REAP_PAUSE_S = 0.01
"""Between two looks at killed processes, which are gone within milliseconds."""

LAST_LIMIT_S = 120.0
"""Longest run of a command at the end: the deletion of a cluster of several nodes."""

TICK_S = 1.0
"""Longest sleep of the loop; everything wakes it, so this is only a bound."""

TAIL_PARTS = 4
"""A full log keeps 2 of so many parts as head, and 1 to 2 as tail."""

Message = dict[str, Any]


def _beside(file: str) -> dict[str, Any]:
    """What another file of this folder has: a script alone has no package to import."""
    return runpy.run_path(str(Path(__file__).with_name(file)))


REMOVE: Callable[[str], bool] = _beside("removal.py")["remove"]

_descent = _beside("descent.py")
process_table: Callable[[], dict[int, tuple[int, int, int]]] = _descent["process_table"]
descendants: Callable[[int, dict[int, tuple[int, int, int]]], set[int]] = _descent["descendants"]
marked: Callable[[int, bytes], bool] = _descent["marked"]
has_ended: Callable[[int], bool] = _descent["has_ended"]

_libc = ctypes.CDLL(None)


class Log:
    """A file of at most ``limit`` bytes: the beginning of the output, a remark, and the end."""

    def __init__(self, path: str, limit: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        # Opened first: a driver can put a link in the folder's place.
        within = os.open(Path(path).parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            self.fd = os.open(Path(path).name, flags, 0o600, dir_fd=within)
        finally:
            os.close(within)
        self.part = max(1, limit // TAIL_PARTS)
        self.size = os.fstat(self.fd).st_size
        self.left_out = 0

    def write(self, data: bytes) -> None:
        while data:
            room = self.part * TAIL_PARTS - self.size
            if room <= 0:
                self._cut()
                continue
            # A full disk loses output, it must not end the keeper.
            with contextlib.suppress(OSError):
                os.write(self.fd, data[:room])
            self.size += len(data[:room])
            data = data[room:]

    def _cut(self) -> None:
        head = 2 * self.part
        tail = b""
        with contextlib.suppress(OSError):
            tail = os.pread(self.fd, self.part, self.size - self.part)
            os.ftruncate(self.fd, head)
        self.left_out += self.size - head - len(tail)
        remark = b"\n[... about %d bytes left out ...]\n" % self.left_out
        self.size = head
        with contextlib.suppress(OSError):
            os.write(self.fd, (remark + tail)[: 2 * self.part - 1])
            self.size = os.fstat(self.fd).st_size


class Child:
    """One spawned process; ``pipe`` is None once its output has ended."""

    def __init__(self, number: int, process: subprocess.Popen[bytes], log: Log, pipe: int) -> None:
        self.number = number
        self.process = process
        self.pid = process.pid
        self.log = log
        self.pipe: int | None = pipe
        self.ended = False


class Keeper:
    """The loop. Single-threaded, so that nothing happens between fork and exec by surprise."""

    def __init__(self, parent: int) -> None:
        self.parent = parent
        self.selector = selectors.DefaultSelector()
        self.children: dict[int, Child] = {}
        self.owned: dict[str, int] = {}
        self.last: dict[str, tuple[list[str], dict[str, str]]] = {}
        self.buffer = b""
        self.closing: int | None = None
        self.orphaned = False
        self._commands: dict[str, Callable[[Message], Message]] = {
            "own": self._own,
            "spawn": self._spawn,
            "signal": self._signal,
            "kill": self._kill,
            "at_end": self._at_end,
            "forget": self._forget,
        }

    def run(self) -> None:
        self._watch_signals()
        os.set_blocking(0, False)
        self.selector.register(0, selectors.EVENT_READ, self._read_commands)
        with contextlib.suppress(OSError):
            parent = os.pidfd_open(self.parent)
            self.selector.register(parent, selectors.EVENT_READ, lambda: None)
        try:
            while self.closing is None and not self.orphaned:
                for key, _ in self.selector.select(TICK_S):
                    key.data()
                self._reap()
                # A forked child of pytest may hold our input open after the end of pytest itself.
                self.orphaned = self.orphaned or os.getppid() != self.parent
        except Exception as error:
            # Our standard error leads nowhere; the parent shows this text.
            self._say({"event": "broken", "error": repr(error)})
            raise
        finally:
            self._end()
        if self.closing is not None:
            self._say({"seq": self.closing, "left": sorted(self.owned)})

    def _watch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self.selector.register(reader, selectors.EVENT_READ, lambda: os.read(reader, CHUNK))

    def _read_commands(self) -> None:
        try:
            data = os.read(0, CHUNK)
        except BlockingIOError:
            return
        if not data or len(self.buffer) > LINE_LIMIT:
            self.orphaned = True
            return
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))

    def _obey(self, command: Message) -> None:
        answer: Message = {"seq": command["seq"]}
        if command["do"] == "close":
            self.closing = command["seq"]
            return
        try:
            answer.update(self._commands[command["do"]](command))
        except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
            answer["error"] = str(error)
            answer["errno"] = getattr(error, "errno", None)
        self._say(answer)

    def _say(self, what: Message) -> None:
        data = json.dumps(what).encode() + b"\n"
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            self.orphaned = True

    def _own(self, command: Message) -> Message:
        path = command["path"]
        about = os.lstat(path)
        if not path.startswith("/") or not stat.S_ISDIR(about.st_mode):
            raise ValueError(f"{path} is no absolute path of a directory")
        if about.st_uid != os.getuid() or Path(path).is_mount():
            raise ValueError(f"{path} is not a directory of ours")
        # Kept open: a driver can move it.
        self._disown(path)
        self.owned[path] = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        return {}

    def _spawn(self, command: Message) -> Message:
        number = len(self.children) + 1
        env = {**command["env"], MARKER: self._mark(number)}
        log = Log(command["log"], command["log_bytes"])
        reader, writer = os.pipe2(os.O_CLOEXEC)
        try:
            process = subprocess.Popen(
                command["argv"],
                env=env,
                cwd=command["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                start_new_session=True,
                preexec_fn=self._become_child,
            )
        except BaseException:
            os.close(reader)
            os.close(log.fd)
            raise
        finally:
            os.close(writer)
        child = self.children[number] = Child(number, process, log, reader)
        os.set_blocking(reader, False)
        self.selector.register(reader, selectors.EVENT_READ, lambda: self._pump(child))
        return {"id": number, "pid": child.pid}

    def _become_child(self) -> None:
        # Ignored signals stay ignored across exec, and a driver has to see its SIGTERM.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def _signal(self, command: Message) -> Message:
        child = self.children[command["id"]]
        if not child.ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, command["signal"])
        return {}

    def _kill(self, command: Message) -> Message:
        child = self.children[command["id"]]
        mark = f"{MARKER}={self._mark(child.number)}".encode()
        alone = all(other.ended for other in self.children.values() if other is not child)
        killed: set[int] = set()
        deadline = time.monotonic() + REAP_LIMIT_S
        while time.monotonic() < deadline:
            self._reap()
            table = process_table()
            ours = descendants(os.getpid(), table)
            below = descendants(child.pid, table) if not child.ended else set()
            # With no other process alive, even one that hid its origin can only be of this one.
            found = {
                pid
                for pid in ours
                if alone or pid in below or child.pid in (pid, *table[pid][1:]) or marked(pid, mark)
            }
            if not found and all(map(has_ended, killed)):
                break
            killed |= found
            for pid in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(REAP_PAUSE_S)
        return {}

    def _at_end(self, command: Message) -> Message:
        self.last[command["name"]] = (list(command["argv"]), dict(command["env"]))
        return {}

    def _forget(self, command: Message) -> Message:
        self.last.pop(command["name"], None)
        return {}

    def _run_last(self) -> None:
        for argv, env in self.last.values():
            with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
                subprocess.run(
                    argv,
                    env=env,
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=LAST_LIMIT_S,
                    check=False,
                )

    def _mark(self, number: int) -> str:
        return f"{os.getpid()}.{number}"

    def _pump(self, child: Child, chunks: int = 1) -> None:
        for _ in range(chunks):
            if child.pipe is None:
                return
            try:
                data = os.read(child.pipe, CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.selector.unregister(child.pipe)
                os.close(child.pipe)
                child.pipe = None
                os.close(child.log.fd)
                return
            child.log.write(data)

    def _reap(self) -> bool:
        """Collect ended processes; False when there is no child at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            child = next((c for c in self.children.values() if c.pid == pid and not c.ended), None)
            if child is not None:
                child.ended = True
                child.process.returncode = os.waitstatus_to_exitcode(status)
                # What it wrote last is in the log before its end is told.
                self._pump(child, chunks=2)
                code = child.process.returncode
                self._say({"event": "exit", "id": child.number, "code": code})

    def _end(self) -> None:
        deadline = time.monotonic() + REAP_LIMIT_S
        while time.monotonic() < deadline and self._reap():
            for pid in descendants(os.getpid(), process_table()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(REAP_PAUSE_S)
        self._run_last()
        for path, descriptor in list(self.owned.items()):
            moved = whereabouts(descriptor)
            if REMOVE(path) and (not moved or REMOVE(moved)):
                self._disown(path)

    def _disown(self, path: str) -> None:
        if path in self.owned:
            os.close(self.owned.pop(path))


def whereabouts(descriptor: int) -> str:
    """Where a directory lies now; empty if it is gone."""
    path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
    about = os.fstat(descriptor)
    with contextlib.suppress(OSError):
        there = os.lstat(path)
        if (there.st_dev, there.st_ino) == (about.st_dev, about.st_ino):
            return path
    return ""


if __name__ == "__main__":
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    Keeper(int(sys.argv[1])).run()
