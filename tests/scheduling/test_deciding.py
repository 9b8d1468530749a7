"""Pods with their claims, on the nodes that they may go to."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import subjects
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.spec import Json
from tests.objects.sample import device_class
from tests.scheduling.sample import claim
from tests.scheduling.sample import gpu
from tests.scheduling.sample import gpus
from tests.scheduling.sample import held
from tests.scheduling.sample import node
from tests.scheduling.sample import numbered
from tests.scheduling.sample import pod
from tests.scheduling.sample import request
from tests.scheduling.sample import scheduler


def decide_all(made: Scheduler) -> list[Decision]:
    found = []
    for subject in subjects.pending(made.cluster):
        decision = made.decide(subject)
        made.accept(decision)
        found.append(decision)
    return found


def places(decisions: list[Decision]) -> list[tuple[str, str]]:
    """Names with nodes."""
    return [(one.subject.key[1], one.chosen.node if one.chosen else "") for one in decisions]


def template(name: str) -> Json:
    spec = claim(name)["spec"]
    meta = {"name": name, "namespace": "default"}
    return {"kind": "ResourceClaimTemplate", "metadata": meta, "spec": {"spec": spec}}


def of_template(name: str, source: str, **more: Any) -> Json:
    made = pod(name, **more)
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": source}]
    return made


def test_the_queue_goes_by_priority_and_then_by_age() -> None:
    late, early, urgent = (pod(name, name) for name in ("late", "early", "urgent"))
    late["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    early["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    urgent["metadata"]["creationTimestamp"] = "2026-01-03T00:00:00Z"
    urgent["spec"]["priority"] = 5
    made = scheduler(
        node("node-a"),
        gpus("node-a", numbered(2)),
        *(claim(name) for name in ("late", "early", "urgent")),
        late,
        early,
        urgent,
    )
    assert places(decide_all(made)) == [("urgent", "node-a"), ("early", "node-a"), ("late", "")]


def test_a_claim_is_made_of_a_template_if_there_is_none_yet() -> None:
    made = scheduler(
        node("node-a"), gpus("node-a", numbered(1)), template("t"), of_template("p", "t")
    )
    (decision,) = decide_all(made)
    assert decision.subject.fresh == {("default", "p-gpu")}
    assert decision.verdict == "fits"


def test_the_pods_status_says_which_claim_was_made_of_a_template() -> None:
    asking = of_template("p", "t")
    asking["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]}
    made = scheduler(node("node-a"), gpus("node-a", numbered(1)), asking, claim("p-gpu-x"))
    (decision,) = decide_all(made)
    assert [one["metadata"]["name"] for one in decision.subject.claims] == ["p-gpu-x"]


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([{"name": "a", "resourceClaimName": "none"}], "claim default/none does not exist"),
        (
            [{"name": "a", "resourceClaimTemplateName": "none"}],
            "template default/none does not exist",
        ),
    ],
)
def test_what_a_pod_names_has_to_exist(entries: list[Json], why: str) -> None:
    asking = pod("p")
    asking["spec"]["resourceClaims"] = entries
    (decision,) = decide_all(scheduler(node("node-a"), asking))
    assert (decision.verdict, decision.why) == ("nofit", why)


def test_a_shared_claim_holds_its_pods_on_its_node() -> None:
    made = scheduler(
        node("node-a"),
        node("node-b"),
        gpus("node-b", numbered(1)),
        claim("shared"),
        pod("first", "shared"),
        pod("second", "shared"),
    )
    assert places(decide_all(made)) == [("first", "node-b"), ("second", "node-b")]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"unschedulable": True}, "cordoned"),
        ({"taints": [{"key": "k", "effect": "NoSchedule"}]}, "node taint k:NoSchedule"),
    ],
)
def test_nodes_are_barred_for_other_reasons_than_devices(changes: Json, why: str) -> None:
    objects = (gpus("node-a", numbered(1)), claim("c"), pod("p", "c"))
    (decision,) = decide_all(scheduler(node("node-a", **changes), *objects))
    assert decision.answers[0].why == why
    tolerating = pod("p", "c", tolerations=[{"operator": "Exists"}])
    (decision,) = decide_all(scheduler(node("node-a", **changes), *objects[:2], tolerating))
    assert decision.verdict == "fits"


def test_a_node_has_so_much_processor_time_only() -> None:
    small = node("node-a")
    small["status"] = {"allocatable": {"cpu": "1", "pods": "10"}}
    asking = []
    for name in ("first", "second"):
        one = pod(name, name)
        one["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "600m"}}
        asking += [one, claim(name)]
    made = scheduler(small, gpus("node-a", numbered(4)), *asking)
    first, second = decide_all(made)
    assert first.verdict == "fits"
    assert second.answers[0].why == "too little cpu"


def test_of_alternatives_the_node_with_the_first_one_is_liked_best() -> None:
    either = claim("c")
    either["spec"]["devices"]["requests"] = [
        {
            "name": "gpu",
            "firstAvailable": [
                {"name": "two", **request(count=2)["exactly"]},
                {"name": "one", **request(count=1)["exactly"]},
            ],
        }
    ]
    made = scheduler(
        node("node-a"),
        node("node-b"),
        gpus("node-a", numbered(1)),
        gpus("node-b", numbered(2)),
        either,
    )
    (decision,) = decide_all(made)
    assert places([decision]) == [("c", "node-b")]


def extended_pod(name: str, resource: str) -> Json:
    made = pod(name)
    limits = {"limits": {resource: "2"}}
    made["spec"]["containers"] = [{"name": "main", "resources": limits}]
    return made


@pytest.mark.parametrize(
    "resource", ["example.com/gpu", "deviceclass.resource.kubernetes.io/extended"]
)
def test_an_extended_resource_of_a_class_becomes_a_claim(resource: str) -> None:
    extended = device_class("extended")
    extended["spec"]["extendedResourceName"] = "example.com/gpu"
    made = scheduler(
        extended, node("node-a"), gpus("node-a", numbered(2)), extended_pod("p", resource)
    )
    (decision,) = decide_all(made)
    assert decision.chosen is not None
    (results,) = decision.chosen.results
    assert [one["request"] for one in results_of(results)] == ["container-0-request-0"] * 2


def test_a_device_plugin_comes_before_devices_of_a_class() -> None:
    extended = device_class("extended")
    extended["spec"]["extendedResourceName"] = "example.com/gpu"
    plugged = node("node-a")
    plugged["status"] = {"allocatable": {"example.com/gpu": "2", "pods": "9"}}
    made = scheduler(extended, plugged, extended_pod("p", "example.com/gpu"))
    (decision,) = decide_all(made)
    assert decision.chosen is not None
    assert decision.chosen.results == ()


def test_rules_of_taints_count() -> None:
    rule = {
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": {"deviceSelector": {}, "taint": {"key": "k", "effect": "NoSchedule"}},
    }
    for rules, verdict in (([], "fits"), ([rule], "nofit")):
        made = scheduler(node("node-a"), gpus("node-a", numbered(1)), claim("c"), *rules)
        assert [one.verdict for one in decide_all(made)] == [verdict]


def test_ended_and_placed_pods_are_not_pending() -> None:
    done = pod("done", "c")
    done["status"] = {"phase": "Succeeded"}
    made = scheduler(
        node("node-a"),
        gpus("node-a", [gpu("gpu-0")]),
        held("c", "node-a", "gpu-0", by="runs"),
        pod("runs", "c", nodeName="node-a"),
        done,
    )
    assert subjects.pending(made.cluster) == []
