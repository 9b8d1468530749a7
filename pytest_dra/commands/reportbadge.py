"""``dra-report badge``: the badge of a report."""

from __future__ import annotations

import argparse
from typing import Final

from pytest_dra.commands import reportoutput as output
from pytest_dra.report import badge
from pytest_dra.report.reading import read

_TEXT: Final = "text"
_OUTPUTS: Final = ("svg", "json", _TEXT)


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    output.add_report(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=_OUTPUTS,
        default="svg",
        help="the picture, what a shields endpoint answers, or the words; default: svg",
    )
    output.add_destination(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the badge."""
    data = read(arguments.report).data
    if arguments.output == _TEXT:
        text = f"{badge.LABEL} {badge.message(data)}\n"
    else:
        text = badge.picture(data) if arguments.output == "svg" else badge.endpoint(data)
    output.deliver(text, arguments.to)
    return output.GOOD
