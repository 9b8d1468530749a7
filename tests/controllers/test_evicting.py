"""Eviction by taints of devices and by DeviceTaintRules."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dra.api.resources import DEVICE_TAINT_RULES
from pytest_dra.api.resources import PODS
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.api.times import now
from pytest_dra.api.times import stamp
from pytest_dra.controllers.evicting import TaintEviction
from pytest_dra.controllers.looping import Background
from pytest_dra.kube import Client
from pytest_dra.spec import Json
from tests.controllers.sample import Running
from tests.controllers.sample import add_pod
from tests.controllers.sample import eventually
from tests.controllers.sample import node_of
from tests.objects.sample import claim as claim_body

TAINT = {"key": "gpu.example.com/unhealthy", "effect": "NoExecute"}


@pytest.fixture
def eviction(client: Client) -> Iterator[Background]:
    with Background([TaintEviction(client)]) as background:
        yield background
        assert background.failures == []


def run_pod(client: Client, name: str, *tolerations: Json) -> None:
    """A pod on node-a with the node's device."""
    body = claim_body()
    body["metadata"] = {"name": name}
    if tolerations:
        body["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = list(tolerations)
    client.create(RESOURCE_CLAIMS, body, namespace="default")
    with Running(client):
        add_pod(client, name, [name])
        assert eventually(lambda: node_of(client, name)) == "node-a"


def taint(client: Client, **more: Any) -> None:
    devices = client.get(RESOURCE_SLICES, "node-a-gpu")["spec"]["devices"]
    devices[0]["taints"] = [{**TAINT, **more}]
    client.patch(RESOURCE_SLICES, "node-a-gpu", {"spec": {"devices": devices}})


def add_rule(client: Client, effect: str = "NoExecute", **selector: str) -> None:
    spec = {"deviceSelector": selector, "taint": {**TAINT, "effect": effect}}
    client.create(DEVICE_TAINT_RULES, {"metadata": {"name": "rule"}, "spec": spec})


def condition(client: Client) -> Json:
    status = client.get(DEVICE_TAINT_RULES, "rule").get("status") or {}
    return dict(next(iter(status.get("conditions") or ()), {}))


def is_going(client: Client, name: str) -> bool:
    return "deletionTimestamp" in client.get(PODS, name, namespace="default")["metadata"]


def test_a_pod_goes_in_its_own_time_when_its_device_is_tainted(
    client: Client, eviction: Background
) -> None:
    run_pod(client, "main")
    taint(client)
    eventually(lambda: is_going(client, "main"))
    pod = client.get(PODS, "main", namespace="default")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    told = {one["type"]: one for one in pod["status"]["conditions"]}["DisruptionTarget"]
    assert (told["status"], told["reason"]) == ("True", "DeletionByDeviceTaintManager")


def test_other_effects_and_devices_do_not_evict(client: Client, eviction: Background) -> None:
    run_pod(client, "main")
    taint(client, effect="NoSchedule")
    add_rule(client, pool="node-b")
    eventually(lambda: condition(client).get("reason") == "NotStarted")
    assert not is_going(client, "main")


def test_a_toleration_for_ever_keeps_the_pod(client: Client, eviction: Background) -> None:
    run_pod(client, "main", {"operator": "Exists", "effect": "NoExecute"})
    add_rule(client, driver="gpu.example.com")
    eventually(lambda: condition(client).get("reason") == "NotStarted")
    assert not is_going(client, "main")


def test_a_toleration_for_a_while_keeps_it_so_long(client: Client, eviction: Background) -> None:
    tolerated = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}
    run_pod(client, "main", tolerated)
    add_rule(client, driver="gpu.example.com")
    told = eventually(lambda: condition(client))
    assert (told["status"], told["reason"]) == ("True", "PodsPendingEviction")
    assert not is_going(client, "main")
    taint(client, timeAdded=stamp(now() - datetime.timedelta(seconds=601)))
    eventually(lambda: is_going(client, "main"))


def test_a_rule_evicts_and_says_so(client: Client, eviction: Background) -> None:
    run_pod(client, "main")
    add_rule(client, driver="gpu.example.com", pool="node-a", device="gpu-0")
    eventually(lambda: is_going(client, "main"))


def test_a_rule_without_an_effect_says_what_it_would_do(
    client: Client, eviction: Background
) -> None:
    run_pod(client, "main")
    add_rule(client, effect="None", driver="gpu.example.com")
    told = eventually(lambda: condition(client))
    assert (told["status"], told["reason"]) == ("False", "NoEffect")
    assert told["message"].startswith(
        "selected devices: 2 published, 1 allocated; with NoExecute pods to be evicted: 1, in "
        "namespaces: 1"
    )
    assert not is_going(client, "main")


def test_a_claim_of_somebody_else_is_no_reason(client: Client, eviction: Background) -> None:
    run_pod(client, "main")
    add_pod(client, "stranger", ["main"], nodeName="node-a")
    taint(client)
    eventually(lambda: is_going(client, "main"))
    assert not is_going(client, "stranger")
