"""SHARE: claims that several pods use."""

from __future__ import annotations

import uuid

from pytest_dra.bench import Bench
from pytest_dra.cases import case
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import prepare
from pytest_dra.spec import Level
from pytest_dra.waiting import pause

PODS = 3
BETWEEN_S = 2.0
"""From the end of one pod to that of the next: a driver that watches the claim has noticed then."""


@case("SHARE-005", Level.MAY, apart_s=6.0)
def test_share_005_several_pods(dra_bench: Bench) -> None:
    """several pods of a node can share a claim"""
    claim = dra_bench.claim(dra_bench.devices(1))
    pods = [{"resource": "pods", "name": f"pod-{n}", "uid": str(uuid.uuid4())} for n in range(PODS)]
    dra_bench.claims.reserve(claim, pods)
    first = dra_bench.prepare(claim)
    what = f"a claim that is reserved for {PODS} pods"
    prepare.must_succeed(first, claim.uid, what=f"Prepare of {what}")
    ids = cdi_specs.ids_of(first, claim.uid)
    edits = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
    while len(pods) > 1:
        pods.pop(0)
        dra_bench.claims.reserve(claim, pods)
        pause(BETWEEN_S)
        what = f"a claim that {PODS - len(pods)} of {PODS} pods do not use any more"
        now = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
        cdi_specs.edits_must_be_the_same(edits, now, what=what)
        again = dra_bench.prepare(claim)
        prepare.must_be_the_same(first, again, claim.uid, what=f"Prepare of {what}")
    done = dra_bench.unprepare(claim)
    what = f"a claim that {PODS} pods have used"
    prepare.must_succeed(done, claim.uid, what=f"Unprepare of {what}")
