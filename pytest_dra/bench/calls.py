"""Calls whose caller goes away, and what a driver does meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor

from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.checks import registration
from pytest_dra.embedded.trouble import Caused
from pytest_dra.kubelet.client import DraClient
from pytest_dra.spec import Blocked
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import Entry
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause
from pytest_dra.waiting import poll
from pytest_dra.wire.answers import NodeReply

CONNECT_S = 5.0
"""Wait for a second connection to a socket that is connected already."""

ASKED_S = 1.0
"""Longest wait for a driver to ask for the claim: one that has not needs no API server for it."""

TRIES = 3
RETRY_PAUSE_S = 2.0
"""A kubelet asks again after a failure, and again; what works at the third time works."""

REST_S = 1.0
"""A driver has come to rest after this long without a sign of work on a claim."""

REST_LIMIT_S = 5.0
"""Longest wait for that."""

SOAK_S = 60.0
"""How long it is looked at in a soak."""

WORKING = "PREP-023"
"""The case that says that a claim can be prepared at all."""


def client_of(bench: Bench) -> tuple[DraClient, str]:
    """A further connection of the kubelet to the driver, and the service that it calls."""
    instance = bench.instance
    plugin = instance.plugin()
    if plugin is None:
        raise Blocked(WORKING, registration.absence())
    client = DraClient(
        plugin.endpoint,
        timeline=bench.timeline,
        instance=instance.name,
        driver=plugin.info.name,
        settings=instance.kubelet.settings,
    )
    client.connected(Deadline.after(CONNECT_S))
    return client, plugin.service


def abandon_prepare(bench: Bench, claim: Claim, held: Caused) -> NodeReply:
    """Prepare with a caller that goes away: the connection is closed once the driver has asked.

    The driver is told the kubelet's own deadline, so that it has no reason to give up by itself.

    Args:
        bench: with the driver.
        claim: what to prepare.
        held: counts the driver's reads of claims, which are not answered meanwhile.
    """
    client, service = client_of(bench)
    before = held.requests
    with client, ThreadPoolExecutor(1) as pool:
        call = pool.submit(client.prepare, [claim.ref], service=service)
        wait_until_asked(call, held, since=before)
        client.close()
        return call.result()


def retried(
    call: Callable[[Claim], NodeReply],
    claim: Claim,
    *,
    tries: int = TRIES,
    unless: Callable[[], bool] = lambda: False,
) -> NodeReply:
    """Call as a kubelet does, again after a failure; the last answer.

    Args:
        call: Prepare or Unprepare.
        claim: of the call.
        tries: how often at most.
        unless: true once a further try is in vain.
    """
    reply = call(claim)
    for _ in range(tries - 1):
        if not reply.error_for(claim.uid) or unless():
            break
        pause(RETRY_PAUSE_S)
        reply = call(claim)
    return reply


def wait_until_asked(call: Future[NodeReply], held: Caused, *, since: int = 0) -> None:
    """Wait until the driver has asked for the claim of a call, or has answered without.

    ``since`` are the reads of ``held`` before the call.
    """
    poll(lambda: call.done() or held.requests > since, Deadline.after(ASKED_S))


def wait_for_rest(bench: Bench) -> bool:
    """Wait until the driver has neither asked for a claim nor written a file for a while.

    False if it never rests. In a soak it is looked at for the whole time.
    """
    soak = bench.setup.soak
    rest_s, limit_s = soak.either(REST_S, SOAK_S), soak.either(REST_LIMIT_S, SOAK_S)
    instance, timeline = bench.instance, bench.timeline
    seen: object = None
    since = timeline.now()

    def rested() -> bool:
        nonlocal seen, since
        now = (len(claim_reads(bench)), instance.tree())
        if now != seen:
            seen, since = now, timeline.now()
        return timeline.now() - since >= rest_s

    return poll(rested, Deadline.after(limit_s)) is not None


def claim_reads(bench: Bench, *, since: int = 0) -> list[Entry[ApiRequest]]:
    """What the driver has asked the API server about claims, oldest first."""
    user = bench.instance.user
    return bench.timeline.entries(
        ApiRequest,
        since=since,
        where=lambda event: event.identity == user and event.resource == RESOURCE_CLAIMS.plural,
    )


def calls_with_claims(bench: Bench, method: str) -> list[Entry[DraCall]]:
    """The undisturbed calls of a method in the run so far, empty batches left out."""
    return bench.timeline.entries(
        DraCall,
        where=lambda event: event.method == method and bool(event.claims),
        disturbed=False,
    )
