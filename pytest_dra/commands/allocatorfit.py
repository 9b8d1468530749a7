"""``dra-allocator fit``: how many more of a claim, or of a pod with its claims, fit."""

from __future__ import annotations

import argparse
import copy
import sys
from typing import Final

from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands import allocatoroutput as output
from pytest_dra.commands.allocatorinput import InputError
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import Subject
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.spec import Json

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
    per_node, total, limited, why = count(
        scheduler, subject, names=arguments.node, limit=arguments.limit
    )
    if arguments.output == output.TABLE:
        rows = [(name or "<any>", str(fits)) for name, fits in per_node.items()]
        output.write_table(("NODE", "FIT"), [*rows, ("in all", f"{total}{'+' if limited else ''}")])
        if not total:
            sys.stderr.write(intake.told(f"{subject.name}: {why}\n"))
    else:
        value = {"subject": subject.name, "nodes": per_node, "total": total, "limited": limited}
        (output.write_json if arguments.output == "json" else output.write_yaml)(value)
    return 0 if total else 1


def count(
    scheduler: Scheduler, subject: Subject, *, names: list[str] | None, limit: int
) -> tuple[dict[str, int], int, bool, str]:
    """How many fit per node, in all, whether the limit ended it, and why no more fit.

    The copies are placed for good, one after the other, as the scheduler would: those of one node
    may take devices that another node could use, too.
    """
    nodes = names if names is not None else list(scheduler.cluster.nodes)
    per_node = dict.fromkeys(nodes, 0)
    total, why = 0, ""
    remaining = list(nodes)
    while remaining and total < limit:
        decision = scheduler.decide(_copied(subject, total), names=remaining)
        why = decision.why
        chosen = decision.chosen
        if chosen is None:
            break
        scheduler.accept(decision)
        per_node[chosen.node] += 1
        total += 1
        # Nodes before the one that fitted are full, and stay so, if the order decides.
        position = remaining.index(chosen.node)
        if [one.node for one in decision.answers][-1] == chosen.node:
            remaining = remaining[position:]
    return per_node, total, total >= limit, why


def _copied(subject: Subject, number: int) -> Subject:
    """One more of the same, all of it new."""
    claims = []
    for one in subject.claims:
        made = copy.deepcopy({key: value for key, value in one.items() if key != "status"})
        made["metadata"] = {**made["metadata"], "name": f"{key_of(one)[1]}-copy-{number}"}
        made["metadata"].pop("uid", None)
        claims.append(made)
    pod: Json | None = None
    if subject.pod is not None:
        pod = copy.deepcopy(subject.pod)
        pod["metadata"] = {**pod["metadata"], "name": f"{subject.key[1]}-copy-{number}"}
        pod["metadata"].pop("uid", None)
        pod.get("spec", {}).pop("nodeName", None)
    return Subject(
        kind=subject.kind, key=(subject.key[0], f"{subject.key[1]}-copy-{number}"),
        claims=tuple(claims), pod=pod, extended=subject.extended,
        fault=subject.fault,
    )  # fmt: skip
