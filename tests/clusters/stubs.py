"""Programs in the place of ``kind``, ``docker`` and ``podman``: they note how they are called."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

_HEAD = """\
#!{python} -IS
import json, os, sys, time
with open({log!r}, "a") as log:
    log.write(json.dumps({{"argv": sys.argv[1:], "env": dict(os.environ)}}) + "\\n")
words = sys.argv[1:]
"""


class Stub:
    """One program. ``body`` is Python: it finds its arguments in ``words``."""

    def __init__(self, folder: Path, name: str, body: str = "") -> None:
        self.path = folder / name
        self._log = folder / f"{name}.log"
        head = _HEAD.format(python=sys.executable, log=str(self._log))
        self.path.write_text(head + body, "utf-8")
        self.path.chmod(0o755)

    @property
    def program(self) -> str:
        """Its path."""
        return str(self.path)

    def calls(self) -> list[list[str]]:
        """The arguments of each call so far."""
        return [call["argv"] for call in self._calls()]

    def environments(self) -> list[dict[str, str]]:
        """The variables of each call so far."""
        return [call["env"] for call in self._calls()]

    def _calls(self) -> list[dict[str, Any]]:
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]


def said(status: int, *, err: str = "", out: str = "") -> str:
    """The body of a program that says something and ends."""
    return f"sys.stdout.write({out!r}); sys.stderr.write({err!r}); sys.exit({status})\n"


def shell(*words: str) -> str:
    """A command line of these words."""
    return shlex.join(words)
