"""What each instance of the bench has written to the API server."""

from __future__ import annotations

from collections.abc import Collection

from pytest_dra.api.resources import EVENTS
from pytest_dra.api.resources import NODES
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.publishing import WRITES
from pytest_dra.bench.publishing import slices_of
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from pytest_dra.timeline import ProcessEvent

STARTED = "start"


def slice_writes(bench: Bench, *users: str) -> list[Entry[ApiRequest]]:
    """Creates, updates and patches of slices by these identities, or by all instances."""
    wanted = set(users or bench.places)
    return bench.timeline.entries(ApiRequest, where=lambda event: _is_write_of(event, wanted))


def writers_at_once(bench: Bench) -> dict[str, set[str]]:
    """Identities that write a pool without a node beside each other, by ``driver/pool``.

    Who takes over from a process that has ended is alone.
    """
    names = {user: node.removeprefix("node-") for user, node in bench.places.items()}
    active: dict[str, set[str]] = {}
    found: dict[str, set[str]] = {}
    for entry in bench.timeline.all():
        event = entry.event
        if isinstance(event, ProcessEvent) and event.action != STARTED:
            for users in active.values():
                users -= {user for user in users if names[user] == event.instance}
        elif isinstance(event, ApiRequest) and _is_write_of(event, bench.places):
            for spec in (body.get("spec") or {} for body in slices_of([entry])):
                if spec.get("allNodes") or spec.get("nodeSelector"):
                    pool = f"{spec.get('driver')}/{(spec.get('pool') or {}).get('name')}"
                    active.setdefault(pool, set()).add(event.identity)
                    if len(active[pool]) > len(found.get(pool, ())):
                        found[pool] = set(active[pool])
    return found


def _is_write_of(event: ApiRequest, users: Collection[str]) -> bool:
    return (
        event.identity in users
        and event.resource == RESOURCE_SLICES.plural
        and event.verb in WRITES
    )


def requests(bench: Bench, instance: Instance) -> list[Entry[ApiRequest]]:
    """Every request of an instance."""
    return bench.timeline.entries(ApiRequest, where=lambda event: event.identity == instance.user)


def events_of(bench: Bench, instance: Instance) -> list[Json]:
    """The Events that an instance has written."""
    return [
        entry.event.body
        for entry in bench.timeline.entries(ApiRequest)
        if entry.event.identity == instance.user
        and entry.event.resource == EVENTS.plural
        and entry.event.verb in WRITES
        and entry.event.body is not None
    ]


def node_uid(bench: Bench, instance: Instance) -> str:
    """The uid of the instance's Node."""
    found = bench.cluster.admin().get(NODES, instance.node)
    return str(found["metadata"]["uid"])
