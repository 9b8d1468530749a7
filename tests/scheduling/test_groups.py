"""Claims that the pods of a group share."""

from __future__ import annotations

from typing import Any

from pytest_dra.allocator import rules
from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling import subjects
from pytest_dra.spec import Json
from tests.objects.sample import device_class
from tests.scheduling.sample import claim
from tests.scheduling.sample import gpus
from tests.scheduling.sample import node
from tests.scheduling.sample import numbered
from tests.scheduling.sample import pod

ON = rules("1.37", {"DRAWorkloadResourceClaims": True})
ENTRY = {"name": "gpus", "resourceClaimTemplateName": "t"}


def template() -> Json:
    body = claim("t")
    return {**body, "kind": "ResourceClaimTemplate", "spec": {"spec": body["spec"]}}


def group(*entries: Json, status: Json | None = None) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "team", "namespace": "default", "uid": "g"},
        "spec": {"resourceClaims": list(entries or (ENTRY,))},
        "status": status or {},
    }


def member(name: str, entry: Json = ENTRY, **spec: Any) -> Json:
    made = pod(name, schedulingGroup={"podGroupName": "team"}, **spec)
    made["spec"]["resourceClaims"] = [entry]
    return made


def decided(*objects: Json, on: bool = True) -> list[Decision]:
    current = ON if on else rules("1.37")
    nodes = (node("node-a"), gpus("node-a", numbered(2)))
    cluster = Cluster([device_class(), *nodes, *objects], group_claims=current.group_claims)
    scheduler = Scheduler(cluster, current)
    found = []
    for one in subjects.pending(cluster):
        found.append(scheduler.decide(one))
        scheduler.accept(found[-1])
    return found


def devices(decision: Decision) -> list[str]:
    assert decision.chosen is not None
    return [one["device"] for each in decision.chosen.results for one in each["devices"]["results"]]


def test_the_pods_of_a_group_get_the_devices_of_one_claim() -> None:
    first, second, third = decided(template(), group(), *map(member, ("a", "b", "c")))
    assert devices(first) == ["gpu-0"]
    assert devices(second) == devices(third) == []
    (shared,) = first.subject.claims
    assert second.subject.claims == (shared,)
    assert shared["metadata"]["name"] == "team-gpus"
    reference = {
        "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "team", "uid": "g"
    }  # fmt: skip
    assert shared["status"]["reservedFor"] == [reference]


def test_without_the_gate_each_pod_has_its_own() -> None:
    first, second, third = decided(template(), group(), *map(member, ("a", "b", "c")), on=False)
    assert devices(first) == ["gpu-0"]
    assert devices(second) == ["gpu-1"]
    assert third.chosen is None
    assert first.subject.claims[0]["status"]["reservedFor"][0]["resource"] == "pods"


def test_an_entry_that_differs_is_the_pods_own() -> None:
    own = {"name": "mine", "resourceClaimTemplateName": "t"}
    first, second = decided(template(), group(), member("a"), member("b", own))
    assert devices(first) == ["gpu-0"]
    assert devices(second) == ["gpu-1"]


def test_the_claim_that_the_group_names_is_used() -> None:
    named = {"resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "made"}]}
    made = claim("made")
    (one,) = decided(template(), group(status=named), made, member("a"))
    assert one.subject.claims == (made,)


def test_a_group_that_is_missing_is_waited_for() -> None:
    (one,) = decided(template(), member("a"))
    assert one.why == "pod group default/team does not exist"


def test_claims_made_for_somebody_else_are_not_used() -> None:
    entry = {"name": "gpus", "resourceClaimTemplateName": "t"}
    mine = member("a", entry)
    mine["status"] = {"resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "made"}]}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "b", "uid": "b", "controller": True}
    made = claim("made")
    made["metadata"]["ownerReferences"] = [owner]
    (one,) = decided(template(), group(), made, mine)
    assert "made for Pod b" in one.why
    owner.update({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "team"})
    assert decided(template(), group(), made, mine)[0].chosen is not None
    assert "made for PodGroup team" in decided(template(), group(), made, mine, on=False)[0].why


def test_a_reservation_for_the_group_is_one_for_its_pods() -> None:
    reference = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "team"}
    held = {**claim("c"), "status": {"reservedFor": [reference]}}
    assert consumers.is_reserved(held, member("a"), groups=True)
    assert not consumers.is_reserved(held, member("a"), groups=False)
    assert not consumers.is_reserved(held, pod("a"), groups=True)
