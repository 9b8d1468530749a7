"""``dra-allocator allocate --apply``: allocations written into the claims of a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pytest_dra import kube
from pytest_dra.commands.allocatorinput import InputError
from pytest_dra.controllers import allocations
from pytest_dra.objects import live
from pytest_dra.objects.findings import printable
from pytest_dra.scheduling import Decision
from pytest_dra.spec import Json


def apply(decisions: Sequence[Decision], arguments: argparse.Namespace) -> None:
    """Write what was decided. Claims that do not exist yet are left to who makes them.

    Raises:
        InputError: the cluster refuses.
    """
    try:
        client = kube.Client(live.kubeconfig(arguments.kubeconfig), context=arguments.context)
        try:
            for claim, allocation in _fresh(decisions):
                allocations.write(client, claim, allocation, None)
                name = "/".join((claim["metadata"]["namespace"], claim["metadata"]["name"]))
                sys.stderr.write(f"resourceclaim/{printable(name)} allocated\n")
        finally:
            client.close()
    except kube.KubeError as error:
        raise InputError(f"--apply: {error}") from error


def _fresh(decisions: Sequence[Decision]) -> list[tuple[Json, Json]]:
    found = []
    for one in decisions:
        if one.chosen is None:
            continue
        for claim, allocation in zip(one.chosen.claims, one.chosen.results, strict=True):
            if claim["metadata"].get("resourceVersion"):
                found.append((claim, allocation))
    return found
