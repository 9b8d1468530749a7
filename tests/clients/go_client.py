"""The program on client-go of ``tests/clients/go``: how it is built and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("go")

BUILD_S: Final = 900.0
"""Longest build: some minutes where nothing is cached."""

RUN_S: Final = 300.0
"""Longest run: 15 s on an idle machine."""


UNREACHABLE: Final = ("dial tcp", "no such host", "proxyconnect", "module lookup disabled")
"""What Go says where neither its cache nor a proxy has the modules."""


class NoModulesError(Exception):
    """client-go is not on this machine and cannot be fetched."""


def find() -> str | None:
    """The Go compiler."""
    return shutil.which("go")


def build(go: str, program: Path) -> None:
    """Build the program.

    Raises:
        NoModulesError: what it is built on cannot be had.
        RuntimeError: it cannot be built; the compiler's words are in the message.
        subprocess.TimeoutExpired: it took longer than ``BUILD_S``.
    """
    done = subprocess.run(
        [go, "build", "-buildvcs=false", "-o", str(program), "."],
        cwd=SOURCE,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    if any(words in done.stderr for words in UNREACHABLE):
        raise NoModulesError(f"client-go cannot be fetched: {done.stderr.splitlines()[0]}")
    if done.returncode:
        raise RuntimeError(f"go build ended with {done.returncode}: {done.stderr}")


def run(program: Path, *arguments: str, env: Mapping[str, str]) -> tuple[int, list[str]]:
    """Run it; its exit code, and a line for each check."""
    done = subprocess.run(
        [str(program), *arguments],
        env={"PATH": os.defpath, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    lines = done.stdout.splitlines()
    return done.returncode, lines if lines else [done.stderr[-2000:]]
