"""Calls that no kubelet of today makes: unknown fields, odd identifiers, no message at all.

All of it is a disturbance on the timeline: what is answered is judged by the case that asks.
"""

from __future__ import annotations

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.calls import client_of
from pytest_dra.bench.claims import Claim
from pytest_dra.checks.prepare import PREPARE
from pytest_dra.wire.answers import NodeReply

UNKNOWN_FIELD = b"\xc2\x3e\x05later"
"""Field 1000, of bytes, as it is encoded: no version of the API has so many."""

NO_MESSAGE = b"\xff" * 64
"""Begins like a number that has no end, which no decoder takes."""


def prepare_from_the_future(bench: Bench, claim: Claim) -> NodeReply:
    """Prepare a claim with unknown fields in the request and in the claim."""
    client, service = client_of(bench)
    with bench.timeline.disturbance("unknown fields"), client:
        return client.prepare([claim.ref], service=service, unknown=UNKNOWN_FIELD)


def prepare_no_message(bench: Bench) -> NodeReply:
    """Call Prepare with bytes that are no message."""
    client, service = client_of(bench)
    with bench.timeline.disturbance("no message"), client:
        return client.prepare_bytes(NO_MESSAGE, service=service)


def call_with(
    bench: Bench, *, uid: str, name: str, namespace: str, method: str = PREPARE
) -> NodeReply:
    """Prepare or Unprepare a claim that is named so, whether there could be one or not."""
    claim = Claim(namespace=namespace, name=name, uid=uid, requests=())
    with bench.timeline.disturbance("odd identifiers"):
        call = bench.instance.prepare if method == PREPARE else bench.instance.unprepare
        return call([claim])
