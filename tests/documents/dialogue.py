"""Runs what a document says, in an empty folder, with the project's own programs."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import yaml

from tests.documents import blocks as parts
from tests.documents.blocks import ROOT
from tests.documents.blocks import Block

LIMIT_S: Final = 300.0
"""Longest command: a whole run with one driver at a time takes 200 s beside others."""

SHOWN_LINES: Final = 60

BASH: Final = shutil.which("bash") or "bash"

HIDDEN: Final = ("PYTEST_", "GITHUB_", "NO_COLOR", "PYTHONDONTWRITEBYTECODE")
"""Beginnings of variables that would change what is written."""

SCRIPT: Final = """\
#!{python}
import sys
sys.path.insert(0, {root!r})
from {module} import {name}
sys.exit({name}())
"""
"""A program of the project that runs from this tree, installed or not."""


class Dialogue:
    """A folder in which the blocks of one document are carried out in their order.

    Args:
        folder: an empty one, which becomes the working folder.
        programs: where the project's programs are put; outside of it.
    """

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)
        }
        install(programs)
        self._environment["PATH"] = os.pathsep.join([str(programs), self._environment["PATH"]])
        self._environment["PYTHONPATH"] = os.pathsep.join(
            [str(ROOT), self._environment.get("PYTHONPATH", "")]
        )
        # As wide as the lines of the documents.
        self._environment["COLUMNS"] = "100"

    def carry_out(self, block: Block) -> str:
        """Do what a block says.

        Returns:
            What is wrong with it; empty if nothing is.
        """
        if parts.FILE in block.directives:
            file = self.folder / block.directives[parts.FILE]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, "utf-8")
            return ""
        if parts.FROM in block.directives:
            whole = (ROOT / block.directives[parts.FROM]).read_text("utf-8")
            return "" if block.text in whole else f"{block.place}: stands not in this file"
        if block.language != parts.CONSOLE or parts.SHOWN in block.directives:
            return ""
        if parts.NEEDS in block.directives and not shutil.which(block.directives[parts.NEEDS]):
            return ""
        return self._talk(block)

    def _talk(self, block: Block) -> str:
        said = parts.commands(block)
        for number, command in enumerate(said, 1):
            wanted = int(block.directives.get(parts.EXIT, "0")) if number == len(said) else 0
            code, got = self._run(command.text)
            if code != wanted or not parts.same(command.output, got):
                end = "\n".join(got.splitlines()[-SHOWN_LINES:])
                return (
                    f"{block.place}: {command.text}\n"
                    f"exit code {code}, want {wanted}, and what the document shows; got:\n{end}"
                )
        return ""

    def _run(self, command: str) -> tuple[int, str]:
        done = subprocess.run(
            [BASH, "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        return done.returncode, done.stdout


def install(programs: Path) -> None:
    """Write the project's programs, and pytest, into a folder, to be run from this tree."""
    programs.mkdir(parents=True, exist_ok=True)
    texts = {"python": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'}
    for name, entry in {**entry_points(), "pytest": "pytest:main"}.items():
        module, _, function = entry.partition(":")
        texts[name] = SCRIPT.format(
            python=sys.executable, root=str(ROOT), module=module, name=function
        )
    for name, text in texts.items():
        file = programs / name
        file.write_text(text, "utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)


def entry_points() -> dict[str, str]:
    """``[project.scripts]`` of ``pyproject.toml``, which Python 3.10 cannot read itself."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    block = text.partition("[project.scripts]\n")[2].partition("\n[")[0]
    pairs = [line.partition(" = ") for line in block.splitlines() if " = " in line]
    return {name: str(yaml.safe_load(value)) for name, _, value in pairs}
