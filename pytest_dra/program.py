"""The program of a driver's command line, looked for before anything is started."""

from __future__ import annotations

import shutil
from pathlib import Path

from pytest_dra.options import OptionError


def check_command(command: tuple[str, ...], *, option: str = "--dra-driver") -> None:
    """The program of a driver's command line must exist before anything is started.

    Raises:
        OptionError: it does not, or cannot be executed.
    """
    program = command[0]
    if "{" in program or shutil.which(program) is not None:
        return
    if "/" in program and Path(program).exists():
        raise OptionError(f"{option}: {program!r} is not an executable program")
    where = "does not exist" if "/" in program else "is not on PATH"
    raise OptionError(f"{option}: the driver's program {program!r} {where}")
