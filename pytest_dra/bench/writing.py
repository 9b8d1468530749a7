"""What each instance of the bench has written to the API server."""

from __future__ import annotations

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


def slice_writes(bench: Bench, *users: str) -> list[Entry[ApiRequest]]:
    """Creates, updates and patches of slices by these identities, or by all instances."""
    wanted = set(users or bench.places)
    return bench.timeline.entries(
        ApiRequest,
        where=lambda event: (
            event.identity in wanted
            and event.resource == RESOURCE_SLICES.plural
            and event.verb in WRITES
        ),
    )


def slices_sent_by(bench: Bench, user: str) -> list[Json]:
    """The slices of these writes as they were sent."""
    return slices_of(slice_writes(bench, user))


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
