"""Allocations of a cluster decided once more, and inputs made small."""

from __future__ import annotations

from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import subjects
from pytest_dra.scheduling.minimizing import Minimizer
from pytest_dra.scheduling.replay import replay
from pytest_dra.spec import Json
from tests.objects.sample import device_class
from tests.scheduling.sample import RULES
from tests.scheduling.sample import claim
from tests.scheduling.sample import gpu
from tests.scheduling.sample import gpus
from tests.scheduling.sample import held
from tests.scheduling.sample import node
from tests.scheduling.sample import numbered
from tests.scheduling.sample import scheduler


def verdicts(*objects: Json) -> dict[str, str]:
    cluster = Cluster([device_class(), node("node-a"), *objects])
    return {row.name: row.verdict for row in replay(cluster, Scheduler(cluster, RULES))}


def test_what_the_cluster_did_in_its_order_is_the_same() -> None:
    late, early = held("late", "node-a", "gpu-1"), held("early", "node-a", "gpu-0")
    late["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    early["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    found = verdicts(gpus("node-a", numbered(2)), late, early)
    assert found == {"claim/late": "same", "claim/early": "same"}


def test_other_devices_and_impossible_ones_are_told_apart() -> None:
    second = held("second", "node-a", "gpu-1")
    small = held("small", "node-a", "gpu-2")
    small["spec"]["devices"]["requests"][0]["exactly"]["count"] = 9
    found = verdicts(gpus("node-a", numbered(3)), second, small)
    assert found == {"claim/second": "differs", "claim/small": "no-fit-here"}


def test_what_the_cluster_left_pending_and_fits_here_is_told() -> None:
    assert verdicts(gpus("node-a", numbered(1)), claim("c")) == {"claim/c": "pending-there"}


def test_an_input_is_made_small_for_as_long_as_the_verdict_stays() -> None:
    objects = [
        device_class(),
        device_class("other"),
        node("node-a"),
        node("node-b"),
        gpus("node-a", numbered(8)),
        gpus("node-b", [gpu("gpu-0")]),
        held("h", "node-a", "gpu-3"),
        claim("c"),
    ]

    def judge(some: list[Json]) -> object:
        made = scheduler(*some)
        claims = [one for one in some if one["metadata"]["name"] == "c"]
        if not claims or not claims[0]["spec"]["devices"].get("requests"):
            return None
        decision = made.decide(subjects.of_claim(claims[0]))
        return decision.verdict, bool(decision.chosen and decision.chosen.results)

    kept = Minimizer(judge).minimized(objects)
    assert [one["kind"] for one in kept] == ["ResourceSlice", "ResourceClaim"]
    assert len(kept[0]["spec"]["devices"]) == 1
    assert objects[4]["spec"]["devices"][0]["name"] == "gpu-0"
