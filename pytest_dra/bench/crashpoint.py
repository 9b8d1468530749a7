"""SIGKILL at a chosen moment of a call: what a driver has on disk then is what it finds again."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO
from typing import Any

import pytest_dra.launch.striker
from pytest_dra.bench import hooks
from pytest_dra.bench.instance import Instance
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until
from pytest_dra.wire.answers import NodeReply

SCRIPT = Path(pytest_dra.launch.striker.__file__)

ANSWER_S = 10.0
"""Longest wait for the script, which answers at once: killed processes are dead in milliseconds."""

HOOKED_DEATH_S = 5.0
"""How long after the answer a driver may still die at the point that ``hooks.crash_point`` set."""

Call = Callable[[], NodeReply]


@dataclasses.dataclass(frozen=True, slots=True)
class Strike:
    """What became of a call. ``writes`` were made by the time the driver was dead or had answered.

    ``struck`` is false if the call made fewer writes than it was to be killed at: the driver lives
    on, with the lowest priority.
    """

    struck: bool
    writes: int


class CrashPoints:
    """Kills the driver of an instance in the middle of calls. A context manager.

    Args:
        instance: whose driver is killed.
        hook: ``hooks.crash_point`` of the profile: a command that is run with the name of the next
            method and a number, and lets the driver kill itself at that point of it.

    Raises:
        UnsupportedEnvironment: the kernel has no room for a watch, or the hook fails.
    """

    def __init__(self, instance: Instance, *, hook: tuple[str, ...] = ()) -> None:
        self._instance = instance
        self._hook = hook
        self._script: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> CrashPoints:
        return self

    def __exit__(self, *_: object) -> None:
        script, self._script = self._script, None
        if script is not None:
            for pipe in (script.stdin, script.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            try:
                script.wait(ANSWER_S)
            except subprocess.TimeoutExpired:
                script.kill()
                script.wait(ANSWER_S)

    def at(self, number: int, method: str, call: Call) -> Strike:
        """Make the call, and SIGKILL the driver at its ``number``-th point, counted from 1.

        The points are those of the hook where there is one, else the writes below the driver's
        data and CDI directories.
        """
        if self._hook:
            return self._hooked(number, method, call)
        return self._strike({"number": number}, call)

    def after(self, seconds: float, call: Call) -> Strike:
        """Make the call, and SIGKILL the driver so long after it was sent."""
        return self._strike({"after_s": seconds}, call)

    def _hooked(self, number: int, method: str, call: Call) -> Strike:
        told = {"method": method, "number": str(number)}
        hooks.run(
            self._instance,
            self._hook,
            name="hooks.crash_point",
            values=told,
            appended=tuple(told.values()),
        )
        reply = call()
        deadline = Deadline.after(0.0 if reply.ok else HOOKED_DEATH_S)
        until(self._instance.timeline, lambda: self._instance.over, deadline)
        struck = self._instance.over
        if struck:
            self._instance.kill()
        return Strike(struck, number if struck else number - 1)

    def _strike(self, moment: dict[str, Any], call: Call) -> Strike:
        places = self._instance.directories
        roots = (places.plugins_dir, places.cdi_dir, places.static_cdi_dir)
        processes = self._instance.driver.processes.values()
        if not all(process.in_hand for process in processes):
            raise UnsupportedEnvironment(
                "the driver's process is another user's, who cannot be stopped at a given write",
                way_out="run pytest as root, or with an engine that runs as your user",
            )
        groups = [process.pid for process in processes]
        self._say({"do": "arm", "groups": groups, "roots": [str(root) for root in roots], **moment})
        self._answer()
        self._say({"do": "go"})
        call()
        self._say({"do": "over"})
        found = self._answer()
        if found["struck"]:
            self._instance.kill()
        return Strike(found["struck"], found["writes"])

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._script is None:
            self._script = subprocess.Popen(
                [sys.executable, "-I", "-S", str(SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A buffer would keep a second answer from select.
                bufsize=0,
                start_new_session=True,
            )
        script = self._script
        if script.stdin is None or script.stdout is None:
            raise RuntimeError("the script that kills drivers has no pipes")
        return script.stdin, script.stdout

    def _say(self, message: dict[str, Any]) -> None:
        pipe, _ = self._pipes()
        pipe.write(json.dumps(message).encode() + b"\n")
        pipe.flush()

    def _answer(self) -> dict[str, Any]:
        """The script's next answer, which is one line and fits into a pipe's buffer."""
        _, pipe = self._pipes()
        ready, _, _ = select.select([pipe], [], [], ANSWER_S)
        if not ready:
            raise RuntimeError(f"the script that kills drivers has not answered in {ANSWER_S:g} s")
        found: dict[str, Any] = json.loads(pipe.readline())
        if "error" in found:
            raise UnsupportedEnvironment(
                f"the driver's directories cannot be watched: inotify: {found['error']}",
                way_out="raise fs.inotify.max_user_instances",
            )
        return found
