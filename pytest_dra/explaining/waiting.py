"""What is to be said of claims that have their devices: which are waited for, which are lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.conditions import TIMEOUT_TEXT
from pytest_dra.scheduling.conditions import WAITING
from pytest_dra.scheduling.conditions import readiness

Json = dict[str, Any]


def notes(scheduler: Scheduler, decision: Decision) -> Iterator[str]:
    """Binding conditions that are not met yet, and allocations that are in the way."""
    if scheduler.rules.binding:
        yield from _waits(scheduler, decision)
        yield from _will_wait(decision)
    yield from _lost(scheduler, decision)


def _waits(scheduler: Scheduler, decision: Decision) -> Iterator[str]:
    moment = scheduler.clock()
    for claim in decision.subject.claims:
        found = readiness(claim, moment)
        if found.state == WAITING:
            since = (allocation_of(claim) or {}).get("allocationTimestamp")
            until = f"{TIMEOUT_TEXT} after {since}" if since else "never"
            yield (
                f"The pod is not bound to its node yet: claim {key_of(claim)[1]} waits for "
                f"{found.why}. The scheduler gives it up {until}."
            )


def _will_wait(decision: Decision) -> Iterator[str]:
    if decision.chosen is None:
        return
    for allocation in decision.chosen.results:
        for result in results_of(allocation):
            wanted = result.get("bindingConditions")
            if wanted:
                yield (
                    f"Device {'/'.join(device_of(result))} has binding conditions: the pod is "
                    f"bound to its node when the driver says that {', '.join(wanted)} is True, "
                    f"for which it has {TIMEOUT_TEXT}."
                )


def _lost(scheduler: Scheduler, decision: Decision) -> Iterator[str]:
    given_back = decision.given_back
    for claim in decision.lost:
        key = key_of(claim)
        if claim is given_back:
            yield (
                f"Nobody else uses claim {key[1]}: the scheduler takes its allocation away and "
                "tries again. A device that could not be bound is not avoided then; its driver "
                "has to taint it or to withdraw it."
            )
        elif decision.chosen is None:
            users = ", ".join(scheduler.cluster.users(key)) or "others"
            yield f"Claim {key[1]} is reserved for {users}: its allocation stays as it is."
