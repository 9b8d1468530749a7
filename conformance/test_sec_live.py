"""SEC on a cluster: what the driver's identity may do there."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.live import LiveBench
from pytest_dra.spec import Level


@case("SEC-003", Level.SHOULD, live=True)
def test_sec_003_own_node(dra_live: LiveBench) -> None:
    """slice writes are limited to the own node"""
    dra_live.foreign.must_be_refused()
