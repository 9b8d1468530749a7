"""``dra-report``: what can be done with the reports of conformance runs."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.commands.leaving import leave
from pytest_dra.commands.reportoutput import BAD_INPUT
from pytest_dra.commands.reportoutput import NAME
from pytest_dra.commands.texts import told
from pytest_dra.report.files import ReportError
from pytest_dra.report.files import Unwritable
from pytest_dra.report.reading import BadReport

_COMMANDS: Final = {
    "check": (
        "reportcheck",
        "whether reports have their form, agree with themselves, are unmodified",
    ),
    "show": ("reportshow", "a report, on the terminal or as Markdown or JSON"),
    "html": ("reporthtml", "a report as one self-contained page"),
    "diff": ("reportdiff", "what differs between two reports, regressions first"),
    "matrix": ("reportmatrix", "many reports as one page, drivers by areas"),
    "badge": ("reportbadge", "the badge of a report"),
    "job": ("reportjob", "what judges an installed driver within its cluster, node by node"),
    "shard": ("reportshard", "one node of such a job, from within its pod"),
    "merge": ("reportmerge", "the reports of single nodes as one, and which nodes differ"),
}
"""Modules and descriptions of the subcommands; one is imported when it is asked for."""


def _module(name: str) -> Any:
    return importlib.import_module(f"pytest_dra.commands.{_COMMANDS[name][0]}")


def _parser(wanted: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=NAME,
        description="Checks, shows and compares the report.yaml of conformance runs.",
        epilog="Exit code: 0 all is well, 1 it is not (a report contradicts itself, something has "
        "regressed), 2 the input cannot be used.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, text) in _COMMANDS.items():
        one = commands.add_parser(name, help=text, description=f"Shows {text}.")
        if name == wanted:
            _module(name).add(one)
    return parser


def run(arguments: Iterable[str]) -> int:
    """Run the command; the exit code."""
    words = list(arguments)
    wanted = next((word for word in words if word in _COMMANDS), None)
    parsed = _parser(wanted).parse_args(words)
    try:
        code: int = _module(parsed.command).run(parsed)
        return code
    except Unwritable as error:
        return _refused(f"{error.path}: cannot be written: {error.reason}")
    except (BadReport, ReportError) as error:
        return _refused(str(error))


def _refused(reason: str) -> int:
    for line in told(reason).split("\n"):
        sys.stderr.write(f"{NAME}: {line}\n")
    return BAD_INPUT


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    leave(run, arguments, broken=BAD_INPUT)
