"""``dra-allocator diff``: what the cluster's scheduler has decided, decided once more."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Final

from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands import allocatoroutput as output
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.replay import SAME
from pytest_dra.scheduling.replay import replay

_OUTPUTS: Final = (output.TABLE, "json", "yaml")
_HEADER: Final = ("NAMESPACE", "NAME", "VERDICT", "NODE", "CLUSTER", "ALLOCATOR")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    intake.add_options(parser)
    parser.add_argument("-o", "--output", choices=_OUTPUTS, default=output.TABLE)
    parser.add_argument("--all", action="store_true", help="also what is the same")


def run(arguments: argparse.Namespace) -> int:
    """Compare."""
    found = intake.read(arguments)
    scheduler = Scheduler(found.cluster, found.rules)
    rows = [
        row
        for row in replay(found.cluster, scheduler)
        if arguments.namespace in (None, row.namespace)
    ]
    shown = rows if arguments.all else [row for row in rows if row.verdict != SAME]
    if arguments.output == output.TABLE:
        table = [
            (
                row.namespace,
                row.name,
                row.verdict,
                row.node or "<any>",
                ",".join(row.theirs) or "<none>",
                row.why or ",".join(row.ours) or "<none>",
            )
            for row in shown
        ]
        if table:
            output.write_table(_HEADER, table)
        same = sum(row.verdict == SAME for row in rows)
        sys.stderr.write(f"{same} the same, {len(rows) - same} differ\n")
    else:
        value = [dataclasses.asdict(row) for row in shown]
        output.write_value(value, arguments.output)
    return output.FITS if all(row.verdict == SAME for row in rows) else output.DOES_NOT
