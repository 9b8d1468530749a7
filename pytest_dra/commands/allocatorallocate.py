"""``dra-allocator allocate``: the devices that pending pods and claims would get."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands import allocatoroutput as output
from pytest_dra.commands.allocatorinput import InputError
from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.deciding import FITS
from pytest_dra.spec import Json

_DEVICES_SHOWN: Final = 4
"""Devices of a row of the table; -o wide shows all."""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    intake.add_options(parser)
    parser.add_argument(
        "-o", "--output", choices=output.OUTPUTS, default=output.TABLE, help="default: table"
    )
    parser.add_argument("--node", metavar="NAME", action="append", help="only on this node")
    parser.add_argument(
        "--apply", action="store_true",
        help="write the allocations of claims that exist into the cluster; the scheduler that is "
        "in charge of their pods goes on from there",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Decide for all that is pending."""
    found = intake.read(arguments)
    if arguments.apply and not intake.asks_cluster(arguments):
        raise InputError("--apply: needs a cluster: --kubeconfig, --context or kubeconfig")
    pending = intake.chosen(found.cluster, arguments.namespace)
    scheduler = Scheduler(found.cluster, found.rules)
    decisions = []
    for subject in pending:
        decision = scheduler.decide(subject, names=arguments.node)
        scheduler.accept(decision)
        decisions.append(decision)
    if arguments.output in (output.TABLE, output.WIDE):
        _write_table(decisions, wide=arguments.output == output.WIDE)
        if not decisions:
            sys.stderr.write("No pending pods or claims found.\n")
    else:
        output.write_documents(claims_of(decisions), arguments.output)
    if arguments.apply:
        from pytest_dra.commands import allocatorapply

        allocatorapply.apply(decisions, arguments)
    return output.FITS if all(one.verdict == FITS for one in decisions) else output.DOES_NOT


def _write_table(decisions: Sequence[Decision], *, wide: bool) -> None:
    rows = []
    for one in decisions:
        namespace, name = one.subject.key
        node = one.chosen.node if one.chosen else "<none>"
        said = _devices(one, wide=wide) if one.chosen else one.why
        rows.append((namespace, f"{one.subject.kind}/{name}", one.verdict, node or "<any>", said))
    if rows:
        output.write_table(("NAMESPACE", "NAME", "VERDICT", "NODE", "DEVICES"), rows)


def _devices(decision: Decision, *, wide: bool) -> str:
    names = [
        "/".join(device_of(result))
        for allocation in (decision.chosen.results if decision.chosen else ())
        for result in results_of(allocation)
    ]
    if not names:
        return "<none>"
    shown = names if wide else names[:_DEVICES_SHOWN]
    more = f" + {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f"{','.join(shown)}{more}"


def claims_of(decisions: Sequence[Decision]) -> list[Json]:
    """The claims with the status that they would have."""
    made: dict[tuple[str, str], Json] = {}
    for one in decisions:
        claims = one.chosen.claims if one.chosen else ()
        for claim in (*claims, *one.subject.claims):
            made.setdefault(key_of(claim), _plain(claim))
    return list(made.values())


def _plain(claim: Json) -> Json:
    meta = {name: value for name, value in claim["metadata"].items() if name != "managedFields"}
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta}
    made["spec"] = claim.get("spec") or {}
    status = claim.get("status") or {}
    return {**made, "status": status} if status else made
