"""What cases look at on a cluster: settings, metadata, conditions, sockets and checkpoints."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any
from typing import cast

import pytest

from pytest_dra.api import resources
from pytest_dra.checks.metadata import ROOT
from pytest_dra.checks.metadata import Place
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.kube import Client
from pytest_dra.live import attaching
from pytest_dra.live import classes
from pytest_dra.live import observing
from pytest_dra.live import releases
from pytest_dra.live.asking import Ask
from pytest_dra.live.asking import claim_spec
from pytest_dra.live.asking import room
from pytest_dra.live.asking import settings
from pytest_dra.live.bench import LiveBench
from pytest_dra.live.deployment import LABEL
from pytest_dra.live.deployment import marks_of
from pytest_dra.live.metadata import Reader
from pytest_dra.live.node import LiveNode
from pytest_dra.live.node import devices_in
from pytest_dra.live.node import registers_at
from pytest_dra.live.pods import Pod
from pytest_dra.live.successor import spec_of
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

DRIVER, CLASS = "fake.dra.example", "gpu.fake.dra.example"
POD = Pod("ns", "p", "1")
PLACE = Place(driver=DRIVER, claim="c", request="a")


def made_of(**parts: Any) -> LiveBench:
    """A bench that has these parts alone."""
    return cast(LiveBench, type("Bench", (), parts)())


def nothing(*_: object, **__: object) -> None:
    """A method whose answer nobody wants."""


def thing(**parts: Any) -> Any:
    return type("Part", (), parts)()


def test_a_request_says_all_that_is_wanted() -> None:
    ask = Ask(
        device_class=CLASS, every=True, admin=True, tolerated=True, capacity={"memory": "2Gi"}
    )
    config = [settings(DRIVER, {"mode": "x"}, requests=["device"]), settings(DRIVER, {"mode": "y"})]
    assert claim_spec(ask, config=config) == {
        "devices": {
            "requests": [
                {
                    "name": "device",
                    "exactly": {
                        "deviceClassName": CLASS,
                        "allocationMode": "All",
                        "adminAccess": True,
                        "tolerations": [
                            {"operator": "Exists"},
                            {"operator": "Exists", "effect": "NoExecute"},
                        ],
                        "capacity": {"requests": {"memory": "2Gi"}},
                    },
                }
            ],
            "config": [
                {
                    "requests": ["device"],
                    "opaque": {"driver": DRIVER, "parameters": {"mode": "x"}},
                },
                {"opaque": {"driver": DRIVER, "parameters": {"mode": "y"}}},
            ],
        }
    }


def test_only_the_room_of_a_driver_with_admin_access_is_labelled_for_it() -> None:
    assert "labels" not in room("dra-1", admin=False)["metadata"]
    labels = room("dra-1", admin=True)["metadata"]["labels"]
    assert labels == {"resource.kubernetes.io/admin-access": "true"}


def test_a_setting_is_told_without_what_each_claim_has_anew() -> None:
    asked: list[Any] = []

    def run_in_plugin(node: str, argv: Sequence[str], *, timeout_s: float) -> tuple[int, str, str]:
        asked.append((node, *argv))
        return 0, "uid-1 of c at gpu-0 in pool-a, share-7: mode=x", ""

    results = [
        {"request": "other", "driver": "another", "pool": "p", "device": "d"},
        {
            "request": "device/big",
            "driver": DRIVER,
            "pool": "pool-a",
            "device": "gpu-0",
            "shareID": "share-7",
        },
        {"request": "device/big", "driver": DRIVER, "pool": "pool-a", "device": "gpu-1"},
    ]
    bench = made_of(
        namespace="ns",
        node=thing(name="n1"),
        driver=thing(name=DRIVER, run_in_plugin=lambda _, *a, **k: run_in_plugin(*a, **k)),
        profile=thing(hooks=thing(observe=("show", "{claim_uid}", "{device}"))),
        claim=lambda _, *asks, config: "c",
        pod_with=lambda _, claim: POD,
        pods=thing(must_run=nothing, end=nothing),
        claims=thing(
            results=lambda _, name: results,
            uid=lambda _, name: "uid-1",
            must_be_deallocated=nothing,
        ),
    )
    seen = observing.observed(bench, what="a claim")
    assert seen == {"device": "UID of NAME at DEVICE in POOL, SHARE: mode=x"}
    assert asked == [("n1", "show", "uid-1", "gpu-0")]
    assert observing.observed_one(bench, Ask(name="device"), what="a claim").startswith("UID")


def test_a_class_of_a_case_is_the_drivers_with_configuration_and_goes(client: Client) -> None:
    selectors = [{"cel": {"expression": "true"}}]
    spec = {"selectors": selectors, "extendedResourceName": "example.com/gpu"}
    client.create(resources.DEVICE_CLASSES, {"metadata": {"name": CLASS}, "spec": spec})
    bench = made_of(
        client=client,
        device_class=CLASS,
        namespace="dra-1",
        name=lambda _, what: f"conf-{what}-1",
        marks=marks_of("1", Owner.here()),
    )
    try:
        with classes.configured(bench, [settings(DRIVER, {"mode": "x"})]) as name:
            found = client.get(resources.DEVICE_CLASSES, name)
            assert found["metadata"]["labels"][LABEL] == "1"
            assert found["spec"]["selectors"] == selectors
            assert "extendedResourceName" not in found["spec"]
            assert found["spec"]["config"][0]["opaque"]["parameters"] == {"mode": "x"}
        left = [each["metadata"]["name"] for each in client.list(resources.DEVICE_CLASSES)]
        assert left == [CLASS]
    finally:
        client.delete(resources.DEVICE_CLASSES, CLASS)


def reader(**files: str) -> Reader:
    """Of a container that has these files, by the last parts of their paths."""

    def run_in(_: object, pod: Pod, argv: Sequence[str], *, container: str) -> str:
        _, _, script, path = argv
        paths = {f"{ROOT}/{name.replace('__', '/')}": text for name, text in files.items()}
        if script.startswith("find"):
            return "\n".join(paths)
        text = paths.get(path, "")
        return ("written" if text == "writable" else "") if ">>" in script else text

    return Reader(made_of(pods=thing(run_in=run_in)), POD, "main")


def at(place: Place) -> str:
    return place.path.removeprefix(f"{ROOT}/").replace("/", "__")


def test_metadata_is_read_where_containers_look() -> None:
    assert reader(**{at(PLACE): '{"kind": "DeviceMetadata"} {}'}).document(PLACE) == {
        "kind": "DeviceMetadata"
    }
    with pytest.raises(Violation) as caught:
        reader(elsewhere="{}").document(PLACE)
    assert caught.value.got == f"no file there, but {ROOT}/elsewhere"
    assert caught.value.want == PLACE.path


def test_files_of_other_requests_are_told() -> None:
    other = dataclasses.replace(PLACE, request="b")
    reader(**{at(PLACE): "{}"}).must_have_no_other(PLACE)
    with pytest.raises(Violation) as caught:
        reader(**{at(PLACE): "{}", at(other): "{}"}).must_have_no_other(PLACE)
    assert caught.value.got == other.path


def test_metadata_that_can_be_written_is_told() -> None:
    reader(**{at(PLACE): "{}"}).must_be_read_only(PLACE)
    with pytest.raises(Violation, match="it can be written"):
        reader(**{at(PLACE): "writable"}).must_be_read_only(PLACE)


def claim_with(**conditions: str) -> dict[str, Any]:
    place = {"driver": DRIVER, "pool": "a", "device": "d"}
    told = [{"type": name, "status": value} for name, value in conditions.items()]
    result = {**place, "bindingConditions": ["one", "two"], "bindingFailureConditions": ["bad"]}
    return {
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "devices": [{**place, "conditions": told}],
        }
    }


def test_conditions_are_waited_for_until_the_driver_has_told_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attaching, "ALLOCATED_S", 0.2)
    states = [{}, claim_with(one="True"), claim_with(one="True", two="True")]

    def state(_: object, name: str) -> dict[str, Any]:
        return states.pop(0) if len(states) > 1 else states[0]

    bench = made_of(
        driver=thing(name=DRIVER),
        claims=thing(state=state),
        profile=thing(budgets=thing(binding=2.0)),
    )
    now, result = attaching.wait_for(bench, "c", attaching.are_met)
    assert result is not None
    assert attaching.are_met(now, result)
    assert not attaching.has_failed(now, result)
    failed = claim_with(one="False", bad="True")
    assert attaching.has_failed(failed, result)
    assert not attaching.are_met(failed, result)
    states[:] = [{}]
    assert attaching.wait_for(bench, "c", attaching.are_met) == ({}, None)


CHECKPOINT = json.dumps(
    {
        "Data": json.dumps(
            {
                "ClaimInfoStateList": [
                    {
                        "ClaimUID": "u1",
                        "DriverState": {
                            DRIVER: {"Devices": [{"PoolName": "a", "DeviceName": "gpu-0"}]}
                        },
                    },
                    {"ClaimUID": "u2", "DriverState": None},
                ]
            }
        )
    }
)


def node(told: str) -> LiveNode:
    """A node that says one thing."""
    cluster = cast(WholeCluster, thing(on_node=lambda *_, **__: told))
    return LiveNode(cluster, "n1", driver=DRIVER, within_s=1.0)


def test_what_a_kubelet_keeps_of_a_claim_is_read() -> None:
    assert node(CHECKPOINT).prepared("u1") == [("a", "gpu-0")]
    assert node(CHECKPOINT).prepared("u2") == node(CHECKPOINT).prepared("u3") == []
    for text in ("", "[]", '{"Data": "[]"}'):
        with pytest.raises(UnsupportedEnvironment, match="checkpoint cannot be read"):
            list(devices_in(text, "u1"))


def test_sockets_are_known_by_path_and_inode() -> None:
    found = node("12 /var/lib/kubelet/plugins_registry/d-reg.sock\n7 /x/a b.sock\n")
    assert found.inodes() == {"/var/lib/kubelet/plugins_registry/d-reg.sock": 12, "/x/a b.sock": 7}
    assert [registers_at(path) for path in found.sockets()] == [True, False]


UNIX = """Num RefCount Protocol Flags Type St Inode Path
0000: 00000002 00000000 00010000 0001 01 17 /registration/other-reg.sock
0000: 00000003 00000000 00000000 0001 03 18 /var/lib/kubelet/plugins_registry/d-reg.sock
"""
REGISTERED = """1 /var/lib/kubelet/plugins_registry/other-reg.sock
2 /var/lib/kubelet/plugins_registry/d-reg.sock
"""


def test_a_socket_is_dead_if_nobody_listens_under_its_name() -> None:
    told = [REGISTERED, UNIX]
    cluster = cast(WholeCluster, thing(on_node=lambda *_, **__: told.pop(0)))
    found = LiveNode(cluster, "n1", driver=DRIVER, within_s=1.0).dead_sockets()
    assert found == ["/var/lib/kubelet/plugins_registry/d-reg.sock"]


def test_a_second_instance_is_like_the_plugins_pods() -> None:
    template: dict[str, Any] = {
        "metadata": {"labels": {"app": "plugin"}},
        "spec": {"tolerations": [{"key": "x"}], "containers": [{"name": "plugin"}]},
    }
    spec = spec_of({"spec": {"template": template}}, node="n1")
    assert spec["nodeName"] == "n1"
    assert spec["tolerations"] == [{"key": "x"}, {"operator": "Exists"}]
    assert template["spec"]["tolerations"] == [{"key": "x"}]


def test_without_a_previous_release_an_update_cannot_be_judged() -> None:
    bench = made_of(driver=thing(must_be_ours=lambda _: None), previous=())
    with (
        pytest.raises(UnsupportedEnvironment, match="previous release is not known") as caught,
        releases.previous(bench),
    ):
        pass
    assert "--dra-driver-previous=IMAGE" in caught.value.way_out
