"""PREP on a cluster: what the kubelet has prepared for a pod."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import giving
from pytest_dra.checks import latency
from pytest_dra.live import LiveBench
from pytest_dra.live import partner
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import Ask
from pytest_dra.live.asking import Use
from pytest_dra.live.asking import implicit
from pytest_dra.live.calltimes import PREPARE
from pytest_dra.spec import Level
from pytest_dra.spec import UnsupportedEnvironment

TRIED_S = 6.0
"""How long a driver lacks its rights, if no Prepare is refused before: a kubelet tries at once, and
then whenever the pod changes."""


@case("PREP-017", Level.SHOULD, live=True)
def test_prep_017_unused_claim(dra_live: LiveBench) -> None:
    """a claim that no container uses is prepared"""
    pod = dra_live.pod(claims={CLAIM: dra_live.claim()}, uses=[Use()])
    dra_live.pods.must_run(pod, want="with a claim that no container uses")
    dra_live.pods.end(pod)


@case("PREP-006", Level.MUST, live=True)
def test_prep_006_foreign_results(dra_live: LiveBench) -> None:
    """results of other drivers in a claim are ignored"""
    with dra_live.partner():
        other = Ask(name="partner", device_class=partner.DEVICE_CLASS)
        for asks in ((dra_live.ask(), other), (other, dra_live.ask())):
            claim = dra_live.claim(*asks)
            pod = dra_live.pod_with(claim)
            dra_live.pods.must_run(pod, want="with a claim of two drivers")
            giving.of_both(dra_live.claims.devices(claim), dra_live.driver.name, partner.NAME)
            if dra_live.profile.injection.probe is not None:
                dra_live.must_see(pod, 1)
            dra_live.pods.end(pod)


@case("PREP-014", Level.MUST, live=True, disruptive=True)
def test_prep_014_repeated(dra_live: LiveBench) -> None:
    """a failed Prepare can simply be repeated"""
    driver, node = dra_live.driver, dra_live.driver.nodes()[0]
    claim = dra_live.claim()
    with driver.without_rights():
        pod = dra_live.pod_with(claim, node=node)
        if not dra_live.pods.is_refused_within(pod, TRIED_S) and dra_live.pods.runs_now(pod):
            raise UnsupportedEnvironment(
                "Prepare succeeds although the driver may not read the claim any more",
                way_out="--dra-depth=wire, at which more is broken",
            )
    dra_live.pods.must_run(pod, want="after the driver got back rights whose loss had failed it")
    if dra_live.profile.injection.probe is not None:
        dra_live.must_see(pod, 1)


@case("PREP-015", Level.SHOULD, live=True, settles=True)
def test_prep_015_latency(dra_live: LiveBench) -> None:
    """Prepare stays well below the call timeout"""
    counts = dra_live.call_times(PREPARE)
    budget_s = dra_live.profile.budgets.prepare
    latency.counts_must_be_short(counts, method=PREPARE, within_s=budget_s, budget="prepare")


@case("PREP-018", Level.MUST, live=True)
def test_prep_018_extended_resource(dra_live: LiveBench) -> None:
    """claims made by the scheduler for extended resources are prepared"""
    name = dra_live.profile.driver.extended_resource or implicit(dra_live.device_class)
    pod = dra_live.pod(uses=[Use(limits={name: "1"})])
    dra_live.pods.must_run(pod, want=f"with one {name}")
    if dra_live.profile.injection.probe is not None:
        dra_live.must_see(pod, 1)
