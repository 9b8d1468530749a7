"""``--dra-driver=attach`` as pytest sees it: what is shown on the terminal, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from pytest_dra.options import OptionError
from pytest_dra.options import Settings

if TYPE_CHECKING:
    from pytest_dra.bench.invitation import Invitation

ENV_FILE = "attach.env"
"""Name of the env file in the output directory: always there, so that an IDE can be told once."""


def check_alone(settings: Settings, config: pytest.Config) -> None:
    """One driver that somebody starts is one driver: no workers beside each other.

    Raises:
        OptionError: xdist is to start some.
    """
    if not settings.attached:
        return
    workers = config.getoption("numprocesses", None) or config.getoption("tx", None)
    if workers or hasattr(config, "workerinput"):
        raise OptionError(
            "--dra-driver=attach: one driver cannot be attached to several workers; "
            "leave -n (pytest-xdist) out, or switch it off with -n 0"
        )


def teller(config: pytest.Config, output: Path) -> Callable[[Invitation], None]:
    """What shows an invitation: lines on the terminal, captured or not, and the env file."""

    def tell(invitation: Invitation) -> None:
        problem = _write(output / ENV_FILE, invitation.env_file())
        file = f"no env file: {problem}" if problem else f"for an IDE: {output / ENV_FILE}"
        _show(
            config,
            [
                "",
                f"dra: waiting for your driver, {invitation.within_s:g} s at most "
                "(Ctrl-C ends it). Start it with this environment:",
                "",
                *invitation.shell(),
                "",
                f"dra: the same {file}" if not problem else f"dra: {file}",
                "dra: this API server and these directories go when the run ends; end your driver "
                "then.",
                "",
            ],
        )

    return tell


def _write(file: Path, text: str) -> str:
    """Write the file, whole at once for who waits for it; returns why that was not possible."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(text, "utf-8")
        new.replace(file)
    except OSError as error:
        return f"{file}: {error.strerror}"
    return ""


def _show(config: pytest.Config, lines: list[str]) -> None:
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if reporter is None:
        # --dra-init comes before pytest's own output.
        sys.stdout.write("\n".join([*lines, ""]))
        sys.stdout.flush()
        return
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        reporter.ensure_newline()
        for line in lines:
            reporter.write_line(line)
        reporter.flush()
