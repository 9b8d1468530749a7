"""PART on a cluster: partitions that come with the claim of a pod, and go with it."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import partitions
from pytest_dra.live import LiveBench
from pytest_dra.live.asking import Ask
from pytest_dra.live.hooks import run_hook
from pytest_dra.spec import Level


@case("PART-007", Level.MUST, live=True)
def test_part_007_dynamic(dra_live: LiveBench) -> None:
    """dynamic partitions appear and disappear with their claim"""
    tried: list[str] = []
    for device_class in dra_live.profile.driver.device_classes:
        tried.append(device_class)
        before = _inventory(dra_live)
        claim = dra_live.claim(Ask(device_class=device_class))
        pod = dra_live.pod_with(claim)
        dra_live.pods.must_run(pod)
        during = _inventory(dra_live)
        dra_live.pods.end(pod)
        after, what = _inventory(dra_live), f"the end of a pod with a device of {device_class}"
        partitions.must_be_as_before(before, after, what=what)
        if during != before:
            return
    partitions.some_must_come((), tried=tried)


def _inventory(bench: LiveBench) -> tuple[str, ...]:
    """What the hook prints on the node of the pods. Raises UnsupportedEnvironment."""
    command, values = bench.profile.hooks.inventory, {"node": bench.node.name}
    return partitions.lines_of(run_hook(bench.driver, partitions.HOOK, command, values))
