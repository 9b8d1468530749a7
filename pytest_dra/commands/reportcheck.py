"""``dra-report check``: form, consistency and checksum of reports."""

from __future__ import annotations

import argparse
import sys

from pytest_dra.commands import reportoutput as output
from pytest_dra.commands.texts import told
from pytest_dra.report.consistency import contradictions
from pytest_dra.report.plain import one_line
from pytest_dra.report.reading import read


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "reports",
        metavar="REPORT",
        nargs="+",
        type=output.report_path,
        help="report.yaml, the directory of a run, or - for the standard input",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check each; the first that cannot be read ends it."""
    code = output.GOOD
    for path in arguments.reports:
        report = read(path)
        problems = list(contradictions(report.raw))
        for place, message in problems:
            sys.stdout.write(f"{told(report.told(place, message))}\n")
        if problems:
            code = output.BAD
            continue
        data, of = report.data, report.data["verdictOf"]
        sys.stdout.write(
            told(
                f"{path}: unmodified; {one_line(data['driver']['name']) or 'unnamed driver'} "
                f"{data['verdict']} ({of['profile']}, Kubernetes {of['kubernetes']})"
            )
            + "\n"
        )
    return code
