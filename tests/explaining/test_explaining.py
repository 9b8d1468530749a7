"""Explanations: reasons by device, what binds, what would help, what Kubernetes gets wrong."""

from __future__ import annotations

import json

from pytest_dra.allocator import rules
from pytest_dra.explaining import plain
from pytest_dra.explaining import text
from pytest_dra.spec import Json
from tests.scheduling.sample import LARGE
from tests.scheduling.sample import claim
from tests.scheduling.sample import explained
from tests.scheduling.sample import gpu
from tests.scheduling.sample import gpus
from tests.scheduling.sample import held
from tests.scheduling.sample import node
from tests.scheduling.sample import numbered
from tests.scheduling.sample import pod
from tests.scheduling.sample import request
from tests.scheduling.sample import selectors

TAINT = {"key": "gpu.example.com/unhealthy", "effect": "NoSchedule"}


def test_devices_are_grouped_by_the_first_reason_that_excludes_them() -> None:
    devices = [
        *numbered(5),
        gpu("gpu-5", "40Gi"),
        gpu("gpu-6", "40Gi"),
        gpu("gpu-7", taints=[TAINT]),
    ]
    holders = [
        held(f"claim-{number}", "node-3", f"gpu-{number}", by=f"train-{number}")
        for number in range(5)
    ]
    wants = claim("big", request(selectors=selectors("true", LARGE)))
    told = text(explained(node("node-3"), gpus("node-3", devices), *holders, wants))
    assert (
        "node-3: 8 devices: 5 in use by default/train-0, default/train-1, default/train-2, .., "
        "2 fail selector #1 (memory 40Gi < 80Gi), 1 tainted gpu.example.com/unhealthy:NoSchedule"
    ) in told


def test_machines_get_every_device_with_a_word_for_its_reason() -> None:
    made = explained(
        node("node-a"),
        gpus("node-a", [gpu("gpu-0"), gpu("gpu-1", "40Gi")]),
        held("other", "node-a", "gpu-0", by="train"),
        claim("big", request(selectors=selectors(LARGE))),
    )
    value = json.loads(json.dumps(plain(made)))
    (only,) = value["nodes"][0]["requests"]
    assert [(one["reason"], one["devices"]) for one in only["excluded"]] == [
        ("in-use-exclusive", ["gpu.example.com/node-a/gpu-0"]),
        ("request-selector", ["gpu.example.com/node-a/gpu-1"]),
    ]
    assert value["verdict"] == "nofit"
    assert {one["kind"] for one in value["changes"]} == {"holder-ended", "selector-dropped"}


def test_the_nearest_changes_have_been_tried_and_say_where_it_would_fit() -> None:
    made = explained(
        node("node-a"),
        node("node-b"),
        gpus("node-a", [gpu("gpu-0", "40Gi")]),
        gpus("node-b", [gpu("gpu-0", taints=[TAINT])]),
        claim("big", request(selectors=selectors(LARGE))),
    )
    told = [(one.kind, one.node) for one in made.changes]
    assert told == [("taint-tolerated", "node-b"), ("selector-dropped", "node-a")]


def test_fewer_devices_are_proposed_as_many_as_there_are() -> None:
    made = explained(node("node-a"), gpus("node-a", numbered(3)), claim("many", request(count=5)))
    assert [one.text for one in made.changes] == ["request gpu asked for 3 devices"]


def test_several_holders_are_named_if_one_is_not_enough() -> None:
    made = explained(
        node("node-a"),
        gpus("node-a", numbered(3)),
        *(held(f"c{one}", "node-a", f"gpu-{one}", by=f"p{one}") for one in range(3)),
        claim("many", request(count=2)),
    )
    (change, *_) = made.changes
    assert change.text.count("ended") == 2
    assert made.binding == ("devices in use",)


def test_the_binding_constraint_is_named_with_the_values_there_are() -> None:
    devices = [
        gpu(f"gpu-{number}", attributes={"numa": {"int": number % 2}}) for number in range(4)
    ]
    made = explained(
        node("node-a"),
        gpus("node-a", devices),
        claim(
            "aligned",
            request(count=3),
            constraints=[{"requests": ["gpu"], "matchAttribute": "gpu.example.com/numa"}],
        ),
    )
    assert made.binding == (
        "request gpu: 3 devices",
        "constraint #0 (matchAttribute gpu.example.com/numa)",
    )
    assert "constraint #0: of gpu.example.com/numa there are 2 x 0, 2 x 1" in text(made)
    assert [one.text for one in made.changes] == [
        "request gpu asked for 2 devices",
        "there were no constraint #0 (matchAttribute gpu.example.com/numa)",
    ]


def test_a_pod_of_higher_priority_stays_pending_and_the_explanation_says_why() -> None:
    made = explained(
        node("node-a"),
        gpus("node-a", numbered(1)),
        held("low", "node-a", "gpu-0", by="low"),
        pod("low", "low", nodeName="node-a", priority=0),
        claim("high"),
        pod("high", "high", priority=1_000_000),
    )
    assert made.verdict == "nofit"
    told = text(made)
    assert "Kubernetes does not preempt pods for devices" in told
    assert "pod default/low ended (claim default/low) (node node-a)" in told


def test_a_node_that_the_pod_cannot_go_to_is_no_matter_of_devices() -> None:
    made = explained(
        node("node-a", unschedulable=True), gpus("node-a", numbered(1)), claim("c"), pod("p", "c")
    )
    assert made.nodes[0].verdict == "elsewhere"
    assert [(one.kind, one.node) for one in made.changes] == [("node-allowed", "node-a")]
    assert "node-a: not for this pod: cordoned" in text(made)


def test_claims_that_compete_within_a_pod_are_both_blamed() -> None:
    made = explained(
        node("node-a"), gpus("node-a", numbered(1)), claim("a"), claim("b"), pod("p", "a", "b")
    )
    assert made.binding == ("request gpu of claim a", "request gpu of claim b")


def test_nodes_that_are_alike_share_a_line() -> None:
    nodes = [node(f"node-{number}") for number in range(5)]
    told = text(explained(*nodes, gpus("node-x", numbered(1)), claim("c")))
    assert "node-0, node-1, node-2 and 2 nodes more: 0 devices" in told


def test_of_many_nodes_it_makes_no_difference_who_holds_their_devices() -> None:
    names = [f"node-{number:02}" for number in range(30)]
    made = explained(
        *(node(name) for name in names),
        *(gpus(name, numbered(1)) for name in names),
        *(held(f"held-{name}", name, "gpu-0", by=f"pod-{name}") for name in names),
        claim("c"),
    )
    lines = [line for line in text(made).splitlines() if line.startswith("node-")]
    assert lines == [
        "node-00, node-01, node-02 and 27 nodes more: 1 device: 1 in use by default/pod-node-00"
    ]


def test_a_selector_that_fails_is_said_to_end_the_attempt() -> None:
    made = explained(
        node("node-a"),
        gpus("node-a", numbered(1)),
        claim("c", request(selectors=selectors('device.attributes["gpu.example.com"].none'))),
    )
    assert made.verdict == "fatal"
    assert any(one.startswith("Kubernetes gives up here: a selector") for one in made.notes)


def test_where_kubernetes_is_known_to_be_wrong_the_answer_stays_and_a_note_says_so() -> None:
    sets = {"name": "set", "counters": {"memory": {"value": "8Gi"}}}
    uses = [{"counterSet": "set", "counters": {"memory": {"value": "8Gi"}}}]
    pool = {"name": "node-a", "generation": 1, "resourceSliceCount": 2}
    counters = gpus("node-a", [])
    counters["metadata"]["name"] = "node-a-sets"
    counters["spec"] = {**counters["spec"], "pool": pool, "sharedCounters": [sets]}
    devices = gpus("node-a", [gpu(name, consumesCounters=uses) for name in ("half-0", "half-1")])
    devices["spec"]["pool"] = pool
    made = explained(
        node("node-a"),
        counters,
        devices,
        held("other", "node-a", "half-0", by="train"),
        claim("admin", request(adminAccess=True)),
    )
    assert made.verdict == "nofit"
    assert any("kubernetes/kubernetes#140729" in one for one in made.notes)
    assert "2 need more of counter set/memory than is left" in text(made)


def test_a_device_with_shares_in_use_that_is_given_out_as_a_whole_is_noted() -> None:
    other = held("other", "node-a", "gpu-0")
    (result,) = other["status"]["allocation"]["devices"]["results"]
    result["shareID"] = "8f7c5b0e-0000-4000-8000-000000000000"
    made = explained(node("node-a"), gpus("node-a", numbered(1)), other, claim("c"))
    assert made.verdict == "fits"
    assert any("kubernetes/kubernetes#140798" in one for one in made.notes)


def of_generation(number: int, name: str, where: str) -> Json:
    made = gpus(where, numbered(1))
    made["metadata"]["name"] = name
    made["spec"]["pool"] = {"name": "pool", "generation": number, "resourceSliceCount": 1}
    return made


def test_devices_of_a_generation_that_is_replaced_elsewhere_are_given_out_with_a_note() -> None:
    old, new = of_generation(1, "old", "node-a"), of_generation(2, "new", "node-b")
    made = explained(node("node-a"), old, new, claim("c"))
    assert made.verdict == "fits"
    assert any("newer generation on other nodes" in one for one in made.notes)


def test_a_pool_that_is_obsolete_on_a_node_is_named() -> None:
    old, new = of_generation(1, "old", "node-a"), of_generation(2, "new", "node-b")
    old["spec"]["pool"]["resourceSliceCount"] = 2
    told = text(explained(node("node-a"), old, new, claim("c")))
    assert "pool gpu.example.com/pool is obsolete: the node's slices have generation 1" in told


def test_counters_that_are_too_small_for_all_are_told_with_what_devices_take() -> None:
    sets = {"name": "set", "counters": {"memory": {"value": "30Gi"}}}
    uses = [{"counterSet": "set", "counters": {"memory": {"value": "10Gi"}}}]
    pool = {"name": "node-a", "generation": 1, "resourceSliceCount": 2}
    counters, devices = gpus("node-a", []), gpus("node-a", numbered(5, consumesCounters=uses))
    counters["metadata"]["name"] = "node-a-sets"
    counters["spec"] = {**counters["spec"], "pool": pool, "sharedCounters": [sets]}
    devices["spec"]["pool"] = pool
    made = explained(node("node-a"), counters, devices, claim("c", request(count=4)))
    assert (
        "counter set/memory of pool gpu.example.com/node-a: 30Gi left, the 5 free devices take "
        "10Gi each"
    ) in text(made)
    assert [one.text for one in made.changes] == ["request gpu asked for 3 devices"]


def test_an_incomplete_pool_is_named() -> None:
    part = gpus("node-a", numbered(1))
    part["spec"]["pool"]["resourceSliceCount"] = 2
    told = text(explained(node("node-a"), part, claim("c")))
    assert "pool gpu.example.com/node-a is incomplete: 1 of 2 slices of generation 1" in told


def test_a_claim_that_fits_is_shown_with_its_devices() -> None:
    made = explained(node("node-a"), gpus("node-a", numbered(1)), claim("c"))
    assert text(made) == (
        "claim default/c: fits on node node-a\n"
        "  claim c, request gpu: gpu.example.com/node-a/gpu-0\n"
    )


def test_explaining_changes_nothing_of_what_is_in_use() -> None:
    objects = (node("node-a"), gpus("node-a", numbered(2)), held("h", "node-a", "gpu-0"))
    wants = claim("c", request(count=2))
    first, second = (explained(*objects, wants) for _ in range(2))
    assert text(first) == text(second)


def test_taints_do_not_count_while_their_gate_is_off() -> None:
    off = rules("1.37", {"DRADeviceTaints": False})
    objects = (node("node-a"), gpus("node-a", [gpu("gpu-0", taints=[TAINT])]), claim("c"))
    assert explained(*objects, rules=off).verdict == "fits"
    assert explained(*objects).verdict == "nofit"
