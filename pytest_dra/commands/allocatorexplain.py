"""``dra-allocator explain``: why a pod or a claim fits nowhere, and what would help."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands import allocatoroutput as output
from pytest_dra.explaining import explain
from pytest_dra.explaining import plain
from pytest_dra.explaining import text
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.cluster import allocation_of
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
        return 0
    if not arguments.alone:
        intake.let_others_go_first(scheduler, subject)
        subject = intake.named(arguments.subject, found.cluster, arguments.namespace)
    explanation = explain(scheduler, subject)
    if arguments.output == "text":
        sys.stdout.write(intake.told(text(explanation)))
    elif arguments.output == "json":
        output.write_json(plain(explanation))
    else:
        output.write_yaml(plain(explanation))
    return 0 if explanation.verdict == FITS else 1


def _write_done(subject: Subject, form: str) -> None:
    results = [one for claim in subject.claims for one in results_of(allocation_of(claim))]
    devices = ["/".join((one["driver"], one["pool"], one["device"])) for one in results]
    if form == "text":
        told = f"{subject.name}: is allocated: {', '.join(devices) or 'no devices'}\n"
        sys.stdout.write(intake.told(told))
        return
    value = {"subject": subject.name, "verdict": "allocated", "devices": devices}
    (output.write_json if form == "json" else output.write_yaml)(value)
