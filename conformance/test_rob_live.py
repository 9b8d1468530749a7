"""ROB on a cluster: how long pods wait for the driver."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import latency
from pytest_dra.live import LiveBench
from pytest_dra.live.calltimes import PREPARE
from pytest_dra.spec import Level
from pytest_dra.spec import UnsupportedEnvironment

CALLS = 50
"""As the catalogue has it: of fewer calls a percentile says nothing."""


@case("ROB-003", Level.MAY, live=True, settles=True)
def test_rob_003_latency(dra_live: LiveBench) -> None:
    """latency is within its budget"""
    counts = dra_live.call_times(PREPARE)
    number = max(counts.values())
    if number < CALLS:
        raise UnsupportedEnvironment(
            f"the kubelet has counted {number} calls, {CALLS} are needed",
            way_out="a run of all cases, or --dra-depth=wire",
        )
    within_s = dra_live.profile.budgets.latency_p99
    latency.percentile_of_counts_must_be_within(counts, method=PREPARE, within_s=within_s)
