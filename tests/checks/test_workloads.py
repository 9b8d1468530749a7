"""What pods of a driver may do on a node, and what a node plugin needs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_dra.checks import workloads
from pytest_dra.checks.workloads import Workload
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

PATHS = (workloads.REGISTRY, workloads.PLUGINS, "/var/run/cdi")


def env(name: str, path: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def daemon_set(*paths: str, kind: str = "DaemonSet", surge: Any = None, **pod: Any) -> Json:
    container = {
        "name": "plugin",
        "env": [env("NODE", "spec.nodeName"), env("UID", "metadata.uid")],
        "volumeMounts": [{"name": f"v{n}", "mountPath": path} for n, path in enumerate(paths)],
    }
    spec: Json = {
        "priorityClassName": "system-node-critical",
        "containers": [container],
        "volumes": [{"name": f"v{n}", "hostPath": {"path": p}} for n, p in enumerate(paths)],
        **pod,
    }
    rolling = {} if surge is None else {"rollingUpdate": {"maxSurge": surge}}
    return {
        "kind": kind,
        "metadata": {"name": "d", "namespace": "n"},
        "spec": {"template": {"spec": spec}, "updateStrategy": rolling},
    }


def work(item: Json) -> Workload:
    found = workloads.workload_of(item)
    assert found is not None
    return found


def unfit(item: Json, *, seamless: bool = False, cdi: bool = True) -> list[str]:
    found = workloads.plugins_must_be_fit_for_nodes(
        [work(item)], seamless=seamless, injects_cdi=cdi
    )
    return [flaw.field.rpartition(".")[2] for flaw in found]


def test_a_good_plugin_is_fit() -> None:
    assert unfit(daemon_set(*PATHS)) == []
    assert unfit(daemon_set("/var/lib/kubelet", "/etc/cdi")) == []
    assert unfit(daemon_set(PATHS[0], f"{PATHS[1]}/gpu.example.com"), cdi=False) == []


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (daemon_set(*PATHS, priorityClassName="high"), "priorityClassName"),
        (daemon_set(*PATHS[1:]), "volumes"),
        (daemon_set(PATHS[0], PATHS[2]), "volumes"),
        (daemon_set(*PATHS[:2]), "volumes"),
        (daemon_set(*PATHS, surge=1), "maxSurge"),
        (daemon_set(*PATHS, surge="10%"), "maxSurge"),
    ],
)
def test_each_missing_point_is_told(item: Json, field: str) -> None:
    assert unfit(item) == [field]


def test_a_volume_that_no_container_mounts_does_not_count() -> None:
    item = daemon_set(*PATHS)
    item["spec"]["template"]["spec"]["containers"][0]["volumeMounts"].pop()
    assert unfit(item) == ["volumes"]


def test_two_pods_at_a_time_need_the_pods_uid() -> None:
    item = daemon_set(*PATHS, surge=1)
    assert unfit(item, seamless=True) == []
    assert unfit(daemon_set(*PATHS, surge="0%")) == []
    del item["spec"]["template"]["spec"]["containers"][0]["env"][1]
    assert unfit(item, seamless=True) == ["containers"]
    del item["spec"]["template"]["spec"]["containers"][0]["env"][0]
    assert unfit(item, seamless=True) == ["containers", "containers"]


def test_plugins_are_the_daemon_sets_that_mount_the_registry() -> None:
    first, second = work(daemon_set(*PATHS)), work(daemon_set("/dev"))
    controller = work(daemon_set("/dev", kind="Deployment"))
    assert workloads.plugins_among([first, second, controller]) == [first]
    assert workloads.plugins_among([second, controller]) == [second]
    with pytest.raises(NotApplicable, match="no DaemonSet"):
        workloads.plugins_among([controller])


def test_other_objects_make_no_pods() -> None:
    assert workloads.workload_of({"kind": "ConfigMap"}) is None
    assert work({"kind": "DaemonSet", "spec": {"template": None}}).account == "default"
    assert work(daemon_set(serviceAccountName="driver")).account == "driver"


def words(item: Json, *exempt: str) -> list[object]:
    found = workloads.privileges_must_have_reasons([work(item)], exempt=exempt)
    return [flaw.got for flaw in found]


def test_privileges_need_a_reason() -> None:
    item = daemon_set("/", "/dev", "//", hostNetwork=True, hostPID=True)
    container = item["spec"]["template"]["spec"]["containers"][0]
    container["securityContext"] = {"privileged": True}
    assert words(item) == [
        "hostNetwork",
        "hostPID",
        "privileged",
        "host path /",
        "host path /",
    ]
    assert words(item, "hostNetwork, hostPID", "privileged container", "host path /") == []
    assert words(daemon_set("/dev", hostNetwork=False)) == []


def test_pods_of_any_shape_are_looked_at() -> None:
    item = copy.deepcopy(daemon_set())
    item["spec"]["template"]["spec"] = {"containers": "x", "volumes": [1, {"hostPath": "y"}]}
    assert words(item) == []
    assert "priorityClassName" in unfit(item)


def test_a_container_that_registers_has_a_liveness_probe() -> None:
    item = daemon_set(*PATHS)
    containers = item["spec"]["template"]["spec"]["containers"]
    aside = {"name": "aside", "livenessProbe": {"exec": {"command": ["true"]}}}
    containers.insert(0, aside)
    (flaw,) = workloads.plugins_must_be_probed([work(item)])
    assert flaw.field == "spec.template.spec.containers[1].livenessProbe"
    containers[1]["livenessProbe"] = aside["livenessProbe"]
    assert list(workloads.plugins_must_be_probed([work(item)])) == []


def test_where_no_container_seems_to_register_any_probe_will_do() -> None:
    item = daemon_set()
    (flaw,) = workloads.plugins_must_be_probed([work(item)])
    assert flaw.got is None
    probed = {"livenessProbe": {"grpc": {"port": 51515}}}
    item["spec"]["template"]["spec"]["containers"].append(probed)
    assert list(workloads.plugins_must_be_probed([work(item)])) == []
