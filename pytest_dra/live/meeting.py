"""Where the processes of a run meet that use one whole cluster: a folder that all of them know.

One of them makes cluster and deployment when another one asks, and ends them when all have ended.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_dra.clusters.owner import Owner
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

READY_S: Final = 1200.0
"""Longest wait for cluster and driver: an image may have to be built and pulled before."""

TURN_S: Final = 1800.0
"""Longest wait for one's turn: the budgets of what others do bound it by themselves."""

EVERY_S: Final = 0.2
"""Between two looks."""

_ASKED, _READY, _FAILED, _TURN, _SERVED = "asked", "ready", "failed", "turn", "served"


class MeetingError(Exception):
    """The cluster cannot be had, or not in time."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """What there is: how the cluster is found, and the run as whose everything is made.

    ``owner``: the process that ends it all, by which others tell whether the run still lives.
    """

    cluster: str
    run: str
    owner: Owner

    @classmethod
    def read(cls, text: str) -> Met:
        """The inverse of :meth:`written`."""
        found = json.loads(text)
        return cls(cluster=found["cluster"], run=found["run"], owner=Owner(**found["owner"]))

    def written(self) -> str:
        """As text."""
        return json.dumps(dataclasses.asdict(self))


class Meeting:
    """See the module.

    Args:
        folder: of the run's processes and nobody else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # of those that use the cluster

    def wait(self) -> Met:
        """Ask for the cluster and wait until it is there with the driver deployed.

        Raises:
            MeetingError: it cannot be had.
        """
        (self.folder / _ASKED).touch()
        poll(self._is_decided, Deadline.after(READY_S), every_s=EVERY_S)
        failed, ready = self.folder / _FAILED, self.folder / _READY
        if failed.exists():
            raise MeetingError(failed.read_text("utf-8"))
        if not ready.exists():
            raise MeetingError(f"the run's cluster is not there after {READY_S:g} s")
        return Met.read(ready.read_text("utf-8"))

    def _is_decided(self) -> bool:
        return any((self.folder / name).exists() for name in (_READY, _FAILED))

    @contextmanager
    def using(self) -> Iterator[None]:
        """Use the driver while others do, too. Raises MeetingError."""
        with self._turn(fcntl.LOCK_SH):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Use the driver while nobody else does. Raises MeetingError."""
        with self._turn(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _turn(self, kind: int) -> Iterator[None]:
        with (self.folder / _TURN).open("w") as file:

            def taken() -> bool:
                try:
                    fcntl.flock(file, kind | fcntl.LOCK_NB)
                except BlockingIOError:
                    return False
                return True

            if not poll(taken, Deadline.after(TURN_S), every_s=EVERY_S):
                raise MeetingError(f"others have used the driver for {TURN_S:g} s without a pause")
            yield

    def serve(self, namespace: str) -> None:
        """Have the run's own allocator look after a namespace."""
        folder = self.folder / _SERVED
        folder.mkdir(exist_ok=True)
        (folder / namespace).touch()

    # of the one that makes it

    def is_asked(self) -> bool:
        """True once somebody waits."""
        return (self.folder / _ASKED).exists()

    def answer(self, met: Met) -> None:
        """Say that everything is there."""
        self._write(_READY, met.written())

    def refuse(self, why: str) -> None:
        """Say that it will not be."""
        self._write(_FAILED, why)

    def serves(self, namespace: str) -> bool:
        """True for a namespace that somebody has had looked after."""
        return (self.folder / _SERVED / namespace).exists()

    def _write(self, name: str, text: str) -> None:
        begun = self.folder / f"{name}.new"
        begun.write_text(text, "utf-8")
        begun.replace(self.folder / name)
