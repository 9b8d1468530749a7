"""The keeper of the run and the processes that it keeps, as seen from pytest."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO
from typing import Any

from pytest_dra.launch.error import LaunchError
from pytest_dra.waiting import Deadline

KEEPER_SCRIPT = Path(__file__).with_name("keeper.py")

START_S = 20.0
"""Longest wait for the keeper's first answer: an interpreter's start on a loaded machine."""

ANSWER_S = 15.0
"""Longest wait for any other answer. The keeper itself spends at most 10 s on ending processes."""

LAST_S = 130.0
"""Longest wait for each command that was promised: above the keeper's own limit for it."""

CLOSE_S = 30.0
"""Longest wait for the end of everything, removal of directories included."""

WAIT_S = 0.25
"""Longest sleep in one wait; each event wakes it, so this is only a bound."""

LOG_BYTES = 4 << 20
"""Default size of a driver's log on disk, beginning and end of the output."""

TAIL_BYTES = 16 << 10
"""Default length of a log's end in messages."""


@dataclasses.dataclass(slots=True)
class _State:
    exit_code: int | None = None
    ended: bool = False
    told: Callable[[int | None], None] | None = None


def start_script() -> subprocess.Popen[bytes]:
    """Start the keeper's script for this process."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(KEEPER_SCRIPT), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        bufsize=0,
    )


class Keeper:
    """Runs processes and owns directories so that none outlives this process.

    The work is done by a script in a session of its own. When :meth:`close` is called, or when this
    process ends in whatever way (also by SIGKILL), it kills everything it started and all that
    came of it, and then removes the directories. Thread-safe. A context manager that starts and
    closes.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._script: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._answers: dict[int, dict[str, Any]] = {}
        self._states: dict[int, _State] = {}
        self._sequence = 0
        self._owner = os.getpid()
        self._broken = ""
        self._last: set[str] = set()

    def __enter__(self) -> Keeper:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process id of the script; 0 if it does not run."""
        return self._script.pid if self._script is not None else 0

    def start(self) -> None:
        """Start the script. Nothing if it runs already."""
        if self._script is not None:
            return
        self._broken = ""
        self._owner = os.getpid()
        self._script = start_script()
        if self._script.stdin is None or self._script.stdout is None:
            raise LaunchError("the keeper of the driver's processes has no pipes")
        os.set_blocking(self._script.stdin.fileno(), False)
        self._reader = threading.Thread(
            target=self._read, args=(self._script.stdout,), name="keeper-reader", daemon=True
        )
        self._reader.start()

    def own_directory(self, path: Path) -> None:
        """Have ``path``, an absolute path of a directory of this user, removed at the end.

        Raises:
            LaunchError: it is not such a directory, or the keeper does not run.
        """
        self._ask({"do": "own", "path": str(path)}, f"own the directory {path}")

    def run_at_end(self, name: str, argv: Sequence[str], *, env: Mapping[str, str]) -> None:
        """Have a command run at the end, once all processes are gone, unless it is forgotten.

        Raises:
            LaunchError: the keeper does not run.
        """
        command = {"do": "at_end", "name": name, "argv": list(argv), "env": dict(env)}
        self._ask(command, f"promise to run {argv[0]!r}")
        self._last.add(name)

    def forget(self, name: str) -> None:
        """Do not run the command that was promised under this name. Raises LaunchError."""
        self._ask({"do": "forget", "name": name}, f"forget {name!r}")
        self._last.discard(name)

    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        log_bytes: int = LOG_BYTES,
    ) -> Process:
        """Start a process in a session and process group of its own.

        Standard input is empty; both outputs go to ``log``, of which at most ``log_bytes`` are
        kept: beginning and end.

        Raises:
            LaunchError: the program cannot be executed, or the keeper does not run.
        """
        answer = self._ask(
            {
                "do": "spawn",
                "argv": list(argv),
                "env": dict(env),
                "cwd": str(cwd),
                "log": str(log),
                "log_bytes": log_bytes,
            },
            f"start {argv[0]!r}",
        )
        number: int = answer["id"]
        with self._changed:
            self._states.setdefault(number, _State())
        return Process(self, number, answer["pid"], log)

    def close(self) -> None:
        """Kill all processes, remove all directories, end the script. May be called again.

        Raises:
            LaunchError: a directory could not be removed, or the script did not end in time.
        """
        if os.getpid() != self._owner:
            # A forked copy of pytest: what runs is not its own.
            return
        script, self._script = self._script, None
        if script is None or script.stdin is None or script.stdout is None:
            return
        left: list[str] = []
        problem = ""
        close_s = CLOSE_S + LAST_S * len(self._last)
        try:
            if script.poll() is None:
                answer = self._exchange(script, {"do": "close"}, close_s)
                left = answer.get("left", [])
        except LaunchError as error:
            problem = str(error)
        finally:
            # The end of its input ends it in any case.
            script.stdin.close()
            try:
                script.wait(CLOSE_S)
            except subprocess.TimeoutExpired:
                script.kill()
                script.wait(CLOSE_S)
                problem = "the keeper of the driver's processes did not end in time"
            if self._reader is not None:
                self._reader.join(ANSWER_S)
            script.stdout.close()
        if problem:
            raise LaunchError(problem)
        if left:
            raise LaunchError(f"could not remove {', '.join(left)}: remove it by hand")

    def _ask(self, command: dict[str, Any], what: str) -> dict[str, Any]:
        script = self._script
        if script is None:
            raise LaunchError(f"cannot {what}: the keeper is not started")
        answer = self._exchange(script, command, ANSWER_S + START_S)
        if "error" in answer:
            raise LaunchError(f"cannot {what}: {answer['error']}")
        return answer

    def _exchange(
        self, script: subprocess.Popen[bytes], command: dict[str, Any], span_s: float
    ) -> dict[str, Any]:
        deadline = Deadline.after(span_s)
        with self._changed:
            self._sequence += 1
            sequence = self._sequence
        line = json.dumps({"seq": sequence, **command}).encode() + b"\n"
        with self._sending:
            self._send(script, line, deadline)
        with self._changed:
            while sequence not in self._answers:
                if self._broken:
                    raise LaunchError(self._broken)
                if deadline.passed:
                    raise LaunchError(
                        f"the keeper of the driver's processes did not answer {command['do']!r}"
                        f" within {span_s:g} s"
                    )
                self._changed.wait(min(WAIT_S, deadline.left_s()))
            return self._answers.pop(sequence)

    def _send(self, script: subprocess.Popen[bytes], line: bytes, deadline: Deadline) -> None:
        if script.stdin is None:
            raise LaunchError("the keeper of the driver's processes has no input")
        descriptor = script.stdin.fileno()
        while line:
            try:
                line = line[os.write(descriptor, line) :]
            except BlockingIOError:
                if deadline.passed:
                    raise LaunchError("the keeper of the driver's processes hangs") from None
                select.select([], [descriptor], [], min(WAIT_S, deadline.left_s()))
            except OSError as error:
                raise LaunchError(
                    f"the keeper of the driver's processes has ended: {self._broken or error}"
                ) from error

    def _read(self, pipe: IO[bytes]) -> None:
        rest = b""
        why = "the keeper of the driver's processes has ended unexpectedly"
        while data := os.read(pipe.fileno(), 1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                message: dict[str, Any] = json.loads(line)
                if message.get("event") == "exit":
                    self._note_exit(message["id"], message["code"])
                elif message.get("event") == "broken":
                    why = f"the keeper of the driver's processes failed: {message['error']}"
                else:
                    with self._changed:
                        self._answers[message["seq"]] = message
                        self._changed.notify_all()
        with self._changed:
            self._broken = why
            numbers = [number for number, state in self._states.items() if not state.ended]
        for number in numbers:
            self._note_exit(number, None)
        with self._changed:
            self._changed.notify_all()

    def _note_exit(self, number: int, code: int | None) -> None:
        with self._changed:
            state = self._states.setdefault(number, _State())
            if state.told is not None:
                # Before it counts as ended: who waited for the end finds it on the timeline.
                state.told(code)
            state.exit_code = code
            state.ended = True
            self._changed.notify_all()


class Process:
    """One process that a :class:`Keeper` has started."""

    def __init__(self, keeper: Keeper, number: int, pid: int, log: Path) -> None:
        self.log = log
        self._pid = pid
        self._keeper = keeper
        self._number = number

    @property
    def pid(self) -> int:
        """Its process id as we see it."""
        return self._pid

    @property
    def in_hand(self) -> bool:
        """True if we can send signals to it and look at it by its id."""
        return True

    @property
    def alive(self) -> bool:
        """True until its end is known."""
        return not self._state().ended

    @property
    def exit_code(self) -> int | None:
        """Its exit code, the negative signal that killed it, or None while it lives.

        None as well if the keeper ended before it and so could not tell.
        """
        return self._state().exit_code

    def signal(self, number: int) -> None:
        """Send a signal to its process group. Nothing if it has ended."""
        if self.alive:
            self._keeper._ask(
                {"do": "signal", "id": self._number, "signal": int(number)},
                f"signal process {self.pid}",
            )

    def terminate(self, deadline: Deadline) -> bool:
        """Send SIGTERM to its group and wait; False if it still lives at the deadline."""
        self.signal(signal.SIGTERM)
        self.wait(deadline)
        return not self.alive

    def kill(self) -> None:
        """SIGKILL it and all that came of it, daemonised or not, and wait until they are gone."""
        if self._keeper.pid:
            self._keeper._ask({"do": "kill", "id": self._number}, f"kill process {self.pid}")
            self.wait(Deadline.after(ANSWER_S))

    def wait(self, deadline: Deadline) -> int | None:
        """Wait for its end; returns its exit code, None if it still lives at the deadline."""
        changed = self._keeper._changed
        with changed:
            while self.alive and not deadline.passed:
                changed.wait(min(WAIT_S, deadline.left_s()))
        return self.exit_code

    def when_ended(self, told: Callable[[int | None], None]) -> None:
        """Call ``told`` once with the exit code, from another thread, or at once if it has ended.

        None is passed where :attr:`exit_code` is None.
        """
        with self._keeper._changed:
            state = self._state()
            if not state.ended:
                state.told = told
            else:
                told(state.exit_code)

    def catch_up(self) -> None:
        """Have its output so far in the log: the keeper reads a pipe between two requests."""
        for _ in range(2):
            self.signal(0)

    def log_tail(self, max_bytes: int = TAIL_BYTES) -> str:
        """The end of its output, at most ``max_bytes`` bytes; empty if there is none."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - max_bytes))
                return file.read(max_bytes).decode("utf-8", "replace")
        except OSError:
            return ""

    def _state(self) -> _State:
        return self._keeper._states[self._number]
