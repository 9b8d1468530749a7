"""``dra-allocator minimize``: the smallest input with the same verdict for the same reasons."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Final

from pytest_dra.allocator import Rules
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands import allocatoroutput as output
from pytest_dra.commands.allocatorinput import InputError
from pytest_dra.explaining import reasons_of
from pytest_dra.objects.reading import Given
from pytest_dra.objects.refusing import GROUP
from pytest_dra.objects.refusing import Server
from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.deciding import FATAL
from pytest_dra.scheduling.deciding import FITS
from pytest_dra.scheduling.minimizing import Minimizer
from pytest_dra.spec import Json

_OUTPUTS: Final = ("yaml", "json")

_BUDGET: Final = 30_000
"""Steps of each of the many searches."""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "subject", metavar="POD|CLAIM",
        help="whose verdict has to stay: pod/NAME, claim/NAME, template/NAME, or a name alone",
    )  # fmt: skip
    intake.add_options(parser)
    parser.add_argument("-o", "--output", choices=_OUTPUTS, default="yaml")
    intake.add_alone(parser)
    parser.add_argument(
        "--devices", action="store_true", help="the devices that are chosen have to stay, too"
    )


def run(arguments: argparse.Namespace) -> int:
    """Find a smaller input."""
    found = intake.read(arguments)
    intake.named(arguments.subject, found.cluster, arguments.namespace)

    def judge(objects: list[Json]) -> object:
        cluster = Cluster(objects, group_claims=found.rules.group_claims)
        return _verdict(cluster, found.rules, arguments)

    kept = Minimizer(judge, _validity(found.version)).minimized(found.objects)
    output.write_documents(kept, arguments.output)
    verdict = judge(kept)
    sys.stderr.write(f"{len(found.objects)} objects before, {len(kept)} after\n")
    return output.FITS if isinstance(verdict, tuple) and verdict[0] == FITS else output.DOES_NOT


def _verdict(cluster: Cluster, rules: Rules, arguments: argparse.Namespace) -> object:
    """What has to stay as it is; None if the subject is gone."""
    scheduler = Scheduler(cluster, rules, budget=_BUDGET)
    try:
        subject = intake.named(arguments.subject, cluster, arguments.namespace)
        if not arguments.alone:
            intake.let_others_go_first(scheduler, subject)
            subject = intake.named(arguments.subject, cluster, arguments.namespace)
    except InputError:
        return None
    decision = scheduler.decide(subject)
    kind = decision.why.split(":")[0] if decision.verdict == FATAL else ""
    verdicts = sorted({one.verdict for one in decision.answers if one.verdict != FITS})
    said = (decision.verdict, subject.fault, kind, tuple(verdicts))
    if decision.chosen is None:
        return (*said, reasons_of(scheduler, decision))
    results = [one for each in decision.chosen.results for one in results_of(each)]
    requests = tuple(one["request"] for one in results)
    if not arguments.devices:
        return (*said, requests)
    return (*said, requests, tuple((one["pool"], one["device"]) for one in results))


def _validity(version: KubernetesVersion) -> Callable[[Json], bool]:
    """Whether an object could be read again."""
    server = Server(version)

    def valid(item: Json) -> bool:
        given = Given(file="", line=0, api_version=item["apiVersion"], kind=item["kind"], body=item)
        judged = server.judge(given)
        core = not given.api_version.startswith(GROUP)
        return judged is not None and judged.sent is not None and (core or not judged.refused)

    return valid
