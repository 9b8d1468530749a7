"""``python -m pytest_dra.containers.ending ENGINE LABEL``: removes the containers of a run.

For the keeper, once pytest is gone. An engine goes on with what it was asked for by a command that
has been killed since, so that a container may appear after the first look.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pytest_dra.clusters.engine import Engine
from pytest_dra.launch.tool import ToolError
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

LOOKS: Final = 3
"""Looks in a row that find nothing, after which nothing is expected any more."""

EVERY_S: Final = 0.5
"""Between two looks: what was asked for before has been done in a fraction of that."""

LIMIT_S: Final = 60.0
"""Longest search; an engine that has not removed them by then does not at all."""


def end(engine: Engine, label: str) -> bool:
    """Remove all containers with a label until none comes any more; False if some may be left."""
    looks = [0]

    def quiet() -> bool:
        try:
            names = engine.containers(label)
        except ToolError:
            return False
        looks[0] = 0 if names else looks[0] + 1
        for name in names:
            with suppress(ToolError):
                engine.remove_container(name)
        return looks[0] >= LOOKS

    return bool(poll(quiet, Deadline.after(LIMIT_S), every_s=EVERY_S))


def main(arguments: Sequence[str]) -> int:
    """See the module."""
    program, label = arguments
    return 0 if end(Engine(program), label) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
