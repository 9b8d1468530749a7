"""``dra-report matrix``: many reports as one page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_dra.commands import reportoutput as output
from pytest_dra.commands.texts import told
from pytest_dra.report import matrix
from pytest_dra.report.reading import BadReport


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        type=Path,
        help=f"with reports in it and below it: {', '.join(matrix.PATTERNS)}",
    )
    output.add_destination(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the page; files that are no reports are told, there and here."""
    directory = arguments.directory
    found, problems = matrix.rows(matrix.find(directory), below=directory)
    for each in problems:
        sys.stderr.write(f"{output.NAME}: {told(each)}\n")
    if not found:
        raise BadReport(f"{directory}: no report in it can be read")
    output.deliver(matrix.render(found, problems), arguments.to)
    return output.BAD if problems else output.GOOD
