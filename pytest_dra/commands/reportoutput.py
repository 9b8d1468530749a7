"""What the subcommands of ``dra-report`` share: exit codes, options, and where output goes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from pytest_dra.report.files import write_whole
from pytest_dra.report.nodes import no_name
from pytest_dra.report.reading import BadReport

NAME: Final = "dra-report"

GOOD: Final = 0
BAD: Final = 1
"""Exit code: a report contradicts itself, or something has regressed."""
BAD_INPUT: Final = 2
"""Exit code: the input cannot be used."""


def report_path(text: str) -> Path:
    """A report that is named on the command line.

    A directory stands for the ``report.yaml`` in it, as runs write it.
    """
    path = Path(text)
    return path / "report.yaml" if path.is_dir() else path


def add_report(parser: argparse.ArgumentParser) -> None:
    """The one report that is worked on."""
    parser.add_argument(
        "report",
        metavar="REPORT",
        type=report_path,
        help="report.yaml, the directory of a run, or - for the standard input",
    )


def add_destination(parser: argparse.ArgumentParser) -> None:
    """Where a text goes that is not read on a terminal."""
    parser.add_argument(
        "--to", metavar="FILE", type=Path, help="write there; default: the standard output"
    )


def deliver(text: str, to: Path | None) -> None:
    """Write a text to a file as a whole, or to the standard output.

    Raises:
        ReportError: the file cannot be written.
    """
    if to is None:
        sys.stdout.write(text)
    else:
        write_whole(to, text)


def named_nodes(text: str) -> list[str]:
    """The names of ``--nodes``, each once.

    Raises:
        BadReport: one of them no node can have.
    """
    found = list(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    for each in found:
        if wrong := no_name(each):
            raise BadReport(f"--nodes: {wrong}")
    return found
