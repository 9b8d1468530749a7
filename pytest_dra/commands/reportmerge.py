"""``dra-report merge``: the reports of single nodes as one, and which nodes differ."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from pytest_dra.commands import reportoutput as output
from pytest_dra.commands.reportoutput import named_nodes
from pytest_dra.commands.texts import told
from pytest_dra.report import nodes
from pytest_dra.report.files import Unwritable
from pytest_dra.report.files import output_must_be_writable
from pytest_dra.report.jobruns import RUN_OPTION
from pytest_dra.report.merging import merged
from pytest_dra.report.shards import found
from pytest_dra.report.terminal import summary_lines
from pytest_dra.report.verdict import BEST_FIRST
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import summarise
from pytest_dra.report.writing import write_reports

SUMMARY: Final = "summary.md"


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "shards",
        metavar="SHARD",
        nargs="+",
        type=Path,
        help="report.yaml of a node, a directory with such in it, or ConfigMaps of a job and the "
        "Job (FILE.json of kubectl get jobs,configmaps -l pytest-dra.dev/job=NAME -o json, - for "
        "the standard input)",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, required=True, help="where the report goes"
    )
    parser.add_argument(
        "--nodes",
        metavar="NAMES",
        default="",
        help="nodes that there should be reports of, by comma; a job's ConfigMap has them",
    )
    parser.add_argument(
        RUN_OPTION,
        metavar="UIDS",
        default="",
        help="uids of the Jobs whose ConfigMaps are taken, by comma; by default those of the Job in"
        " the list, and without one there has to be one run only",
    )
    parser.add_argument(
        "--require",
        choices=(Verdict.CONFORMANT.value, Verdict.PARTIAL.value),
        default=Verdict.PARTIAL.value,
        help="lowest verdict that exits 0; default: partial, since a driver that others have "
        "installed is not restarted",
    )
    parser.epilog = (
        "Exit code: 0 each node has a report, none differs, and the verdict is good enough, 1 not, "
        "2 the input cannot be used."
    )


def run(arguments: argparse.Namespace) -> int:
    """Merge."""
    runs = [each.strip() for each in arguments.run.split(",") if each.strip()]
    shards = found(arguments.shards, runs=runs)
    for line in shards.told:
        sys.stderr.write(f"{output.NAME}: {told(line)}\n")
    made = merged(shards.reports, expected=[*shards.nodes, *named_nodes(arguments.nodes)])
    summary = summarise(made)
    output_must_be_writable(arguments.output)
    shown = arguments.output / SUMMARY
    try:
        shown.unlink(missing_ok=True)
    except OSError as error:
        raise Unwritable(shown, error, directory=arguments.output) from error
    file = write_reports(made, summary, arguments.output, summaries=[shown])
    lines = summary_lines(made, summary, report=file)
    sys.stdout.write("".join(f"{told(line)}\n" for line in lines))
    differ = nodes.spread(made.nodes) or not all(each.verdict for each in made.nodes)
    worst = BEST_FIRST.index(Verdict(arguments.require))
    good = BEST_FIRST.index(summary.overall.verdict) <= worst
    return output.GOOD if good and not differ else output.BAD
