"""All containers of a run: their names, their owner, and that none of them outlives it."""

from __future__ import annotations

import itertools
import os
import secrets
import sys
from contextlib import suppress
from typing import Final

from pytest_dra.clusters.engine import ROOT
from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.owner import OWNED
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.owner import State
from pytest_dra.launch import Keeper
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import python_path

PREFIX: Final = "pytest-dra"

RUN_BYTES: Final = 3
"""Random part of names: apart from those of other runs with this engine."""

PROMISE: Final = "containers"
"""Name of what the keeper is to do at the end."""

MODULE: Final = "pytest_dra.containers.ending"


class Fleet:
    """See the module. Thread-safe.

    Args:
        engine: that runs them.
        user: UID:GID as which they all run; "": what image and pod say.
    """

    def __init__(self, engine: Engine, *, user: str = "") -> None:
        self.engine = engine
        self.user = user
        self._run = secrets.token_hex(RUN_BYTES)
        self._label = Owner.here().label()
        self._numbers = itertools.count(1)
        self._promised: set[int] = set()

    @property
    def mark(self) -> str:
        """The label of each container."""
        return f"{OWNED}={self._label}"

    def name(self, component: str) -> str:
        """A new container's name; ``component`` is a DNS label."""
        return f"{PREFIX}-{self._run}-{component}-{next(self._numbers)}"

    def promise(self, keeper: Keeper) -> None:
        """Have the containers removed where this process cannot, and what ended runs have left.

        Raises:
            LaunchError: the keeper does not run.
        """
        if keeper.pid in self._promised:
            return
        self._promised.add(keeper.pid)
        argv = [sys.executable, "-m", MODULE, self.engine.program, self.mark]
        keeper.run_at_end(PROMISE, argv, env={**os.environ, "PYTHONPATH": python_path()})
        remove_ended(self.engine)


def user_of(engine: Engine) -> str:
    """As whom containers run, so that sockets and files of the driver are within our reach.

    For an ordinary user of an engine that runs as root that is the user; everybody else has them
    anyway. Raises ToolError.
    """
    ours = os.geteuid() == ROOT or engine.is_rootless()
    return "" if ours else f"{os.geteuid()}:{os.getegid()}"


def remove_ended(engine: Engine) -> None:
    """Remove the containers of runs that have ended on this machine; a failure matters to none."""
    with suppress(ToolError):
        for name, label in engine.containers(OWNED).items():
            owner = Owner.from_label(label)
            if owner is not None and owner.state(local=True) is State.ENDED:
                with suppress(ToolError):
                    engine.remove_container(name)
