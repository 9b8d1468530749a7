"""``dra-allocator fit``: how many more of a claim, or of a pod with its claims, fit."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands import allocatoroutput as output
from pytest_dra.commands.allocatorinput import InputError
from pytest_dra.commands.texts import told
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.counting import count

_OUTPUTS: Final = (output.TABLE, "json", "yaml")

COPIES_MAX: Final = 100_000
"""Copies that are counted: a device without limits on sharing has room for any number."""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "subject", metavar="POD|CLAIM",
        help="what is counted: pod/NAME, claim/NAME, template/NAME, or a name alone",
    )  # fmt: skip
    intake.add_options(parser)
    parser.add_argument("-o", "--output", choices=_OUTPUTS, default=output.TABLE)
    parser.add_argument("--node", metavar="NAME", action="append", help="only on this node")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=1000, help="stop at so many; default: 1000"
    )


def run(arguments: argparse.Namespace) -> int:
    """Count."""
    if not 0 < arguments.limit <= COPIES_MAX:
        raise InputError(f"--limit: got {arguments.limit}, want 1 to {COPIES_MAX}")
    found = intake.read(arguments)
    subject = intake.named(arguments.subject, found.cluster, arguments.namespace)
    scheduler = Scheduler(found.cluster, found.rules)
    counted = count(scheduler, subject, names=arguments.node, limit=arguments.limit)
    per_node, total, limited = counted.nodes, counted.total, counted.limited
    if arguments.output == output.TABLE:
        rows = [(name or "<any>", str(fits)) for name, fits in per_node.items()]
        output.write_table(("NODE", "FIT"), [*rows, ("in all", f"{total}{'+' if limited else ''}")])
        if not total:
            sys.stderr.write(told(f"{subject.name}: {counted.why}\n"))
    else:
        value = {"subject": subject.name, "nodes": per_node, "total": total, "limited": limited}
        output.write_value(value, arguments.output)
    return output.FITS if total else output.DOES_NOT
