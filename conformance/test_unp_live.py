"""UNP on a cluster: how long the calls of the kubelet took."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import latency
from pytest_dra.live import LiveBench
from pytest_dra.live.calltimes import UNPREPARE
from pytest_dra.spec import Level


@case("UNP-013", Level.SHOULD, live=True, settles=True)
def test_unp_013_latency(dra_live: LiveBench) -> None:
    """Unprepare stays well below the call timeout"""
    counts = dra_live.call_times(UNPREPARE)
    budget_s = dra_live.profile.budgets.unprepare
    latency.counts_must_be_short(counts, method=UNPREPARE, within_s=budget_s, budget="unprepare")
