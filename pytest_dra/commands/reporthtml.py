"""``dra-report html``: a report as one self-contained page."""

from __future__ import annotations

import argparse

from pytest_dra.commands import reportoutput as output
from pytest_dra.report import html
from pytest_dra.report.reading import read


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    output.add_report(parser)
    output.add_destination(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the page."""
    output.deliver(html.render(read(arguments.report).raw), arguments.to)
    return output.GOOD
