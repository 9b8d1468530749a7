"""PRIO on a cluster: the scheduler chooses the alternative."""

from __future__ import annotations

import dataclasses

from pytest_dra.cases import case
from pytest_dra.checks import giving
from pytest_dra.live import LiveBench
from pytest_dra.live.asking import REQUEST
from pytest_dra.live.asking import Ask
from pytest_dra.spec import Level

SECOND = "second"
IMPOSSIBLE = "false"
"""A selector that matches no device."""


@case("PRIO-004", Level.SHOULD, live=True)
def test_prio_004_second_choice(dra_live: LiveBench) -> None:
    """the second choice works on a real node"""
    first = dataclasses.replace(dra_live.ask("first"), selectors=(IMPOSSIBLE,))
    claim = dra_live.claim(Ask(alternatives=(first, dra_live.ask(SECOND))))
    pod = dra_live.pod_with(claim)
    dra_live.pods.must_run(pod, want="with the second alternative")
    giving.alternative(dra_live.claims.results(claim), f"{REQUEST}/{SECOND}")
    dra_live.must_see(pod, 1)
