"""``dra-allocator explain``: why a pod or a claim fits nowhere, and what would help."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands import allocatoroutput as output
from pytest_dra.commands.texts import told
from pytest_dra.explaining import explain
from pytest_dra.explaining import plain
from pytest_dra.explaining import text
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.deciding import FITS
from pytest_dra.scheduling.subjects import Subject

_OUTPUTS: Final = ("text", "json", "yaml")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "subject", metavar="POD|CLAIM",
        help="pod/NAME, claim/NAME, template/NAME, NAMESPACE/NAME, or a name alone",
    )  # fmt: skip
    intake.add_options(parser)
    parser.add_argument("-o", "--output", choices=_OUTPUTS, default="text", help="default: text")
    intake.add_alone(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explain one subject."""
    found = intake.read(arguments)
    subject = intake.named(arguments.subject, found.cluster, arguments.namespace)
    scheduler = Scheduler(found.cluster, found.rules)
    if subject.claims and not subject.todo and not subject.extended:
        _write_done(subject, arguments.output)
        return output.FITS
    if not arguments.alone:
        intake.let_others_go_first(scheduler, subject)
        subject = intake.named(arguments.subject, found.cluster, arguments.namespace)
    explanation = explain(scheduler, subject)
    if arguments.output == "text":
        sys.stdout.write(told(text(explanation)))
    else:
        output.write_value(plain(explanation), arguments.output)
    return output.FITS if explanation.verdict == FITS else output.DOES_NOT


def _write_done(subject: Subject, form: str) -> None:
    results = [one for claim in subject.claims for one in results_of(allocation_of(claim))]
    devices = ["/".join(device_of(one)) for one in results]
    if form == "text":
        line = f"{subject.name}: is allocated: {', '.join(devices) or 'no devices'}\n"
        sys.stdout.write(told(line))
        return
    value = {"subject": subject.name, "verdict": "allocated", "devices": devices}
    output.write_value(value, form)
