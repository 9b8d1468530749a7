"""``--dra-dry-run``: what a run may create on a cluster, and whom it may disturb."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from collections.abc import Iterator

from pytest_dra.api import resources
from pytest_dra.clusters.kind import PREFIX
from pytest_dra.live.asking import NODE_FOLDER
from pytest_dra.live.deployment import DEFAULT_NAMESPACE
from pytest_dra.live.deployment import LABEL
from pytest_dra.live.foreign import slice_prefix
from pytest_dra.live.leftovers import room_name
from pytest_dra.live.needed import wished
from pytest_dra.live.plan import LivePlan
from pytest_dra.live.shipment import CLUSTER_WIDE
from pytest_dra.live.shipment import plugins_of
from pytest_dra.livefinding import not_granted
from pytest_dra.liveplanning import partners_of
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.planning import plan_of
from pytest_dra.refusals import context_of
from pytest_dra.refusals import is_whole
from pytest_dra.session import DISRUPTIVE
from pytest_dra.session import Session
from pytest_dra.spec import Json

RUN = "RUN"
"""Stands for the name of a run, which is made when it begins."""

IN_ROOM = (resources.PODS, resources.RESOURCE_CLAIMS, resources.RESOURCE_CLAIM_TEMPLATES)
"""What cases make in the run's namespace."""


def list_run(settings: Settings) -> int:
    """Write to standard output what a run may create; nothing is created.

    Returns:
        Exit status.

    Raises:
        OptionError: an option cannot be used, or the run has no cluster on which it creates.
    """
    if not is_whole(settings["dra_cluster"]):
        raise OptionError(
            f"--dra-dry-run: nothing is created on a cluster with "
            f"--dra-cluster={settings['dra_cluster']}; want kind or kubeconfig[:CONTEXT]"
        )
    settings, plan = plan_of(settings)
    if plan.live is None:
        raise RuntimeError("a whole cluster without its plan")
    session = Session(plan)
    disturbing = [id for id in sorted(session.available) if session.declared(id).disturbs]
    lines = [
        *_created(settings, plan.live),
        "",
        *_disturbing(disturbing, shared=plan.live.shared),
        *_wished(settings),
        "",
        "--dra-dry-run: nothing was created",
    ]
    sys.stdout.write("\n".join([*lines, ""]))
    return 0


def _created(settings: Settings, live: LivePlan) -> Iterator[str]:
    cluster = settings["dra_cluster"]
    yield f"A run with --dra-cluster={cluster} may create, and removes at its end:"
    if cluster == "kind" and not settings["dra_reuse"]:
        yield f"  kind cluster {PREFIX}{RUN}, and on it:"
    elif cluster == "kind" and settings["dra_keep"] == "true":
        yield f"  kind cluster {settings['dra_reuse']}, which stays; and on it:"
    room = {"kind": "Namespace", "metadata": {"name": room_name(RUN)}}
    for item in (room, *live.objects, *partners_of(live)):
        yield f"  {_shown(item)}"
    for resource in IN_ROOM:
        yield f"  {resource.kind} {room_name(RUN)}/*"
    yield f"  {resources.DEVICE_CLASSES.kind} {room_name(RUN)}-*"
    for home in sorted({each.namespace for each in plugins_of(live.objects)}):
        yield f"  {resources.PODS.kind} {home}/*-second-*"
    if live.objects and not live.shared:
        yield f"  {resources.RESOURCE_SLICES.kind} {slice_prefix(RUN)}*"
    yield f"each with the label {LABEL}={RUN}, or in the namespace {room_name(RUN)}."
    yield f"LIFE-012 makes the folder {NODE_FOLDER} on a node, which stays, with nothing in it."


def _shown(item: Json) -> str:
    metadata = item.get("metadata") or {}
    kind, name = item["kind"], metadata.get("name", "")
    if kind in CLUSTER_WIDE:
        return f"{kind} {name}"
    return f"{kind} {metadata.get('namespace') or DEFAULT_NAMESPACE}/{name}"


def _disturbing(ids: Iterable[str], *, shared: bool) -> Iterator[str]:
    found = ", ".join(ids) or "none"
    yield f"Cases that disturb others: {found}."
    if shared:
        yield f"They are not run without {DISRUPTIVE}."


def _wished(settings: Settings) -> Iterator[str]:
    """What this user may not on a cluster of others, and what a run goes without then."""
    if context_of(settings["dra_cluster"]) is None:
        return
    told = not_granted(settings, wished())
    if told:
        yield f"This user may not: {told}. How long calls took is not judged then."
