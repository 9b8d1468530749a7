"""The pod of a DaemonSet as containers without a cluster."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from pytest_dra.checks.workloads import workload_of
from pytest_dra.containers.podspecs import Pod
from pytest_dra.containers.podspecs import expanded
from pytest_dra.containers.references import PodSpecError
from pytest_dra.launch import Component
from pytest_dra.launch.containerspec import Mount

IMAGE = "there:1"
VALUES = {"node": "n-1", "pod_uid": "u-1"}


def daemon_set(container: dict[str, Any], **pod: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "plugin", "image": IMAGE, **container}], **pod}
    template = {"metadata": {"labels": {"app": "gpu"}}, "spec": spec}
    metadata = {"name": "gpu", "namespace": "gpu-system"}
    return {"kind": "DaemonSet", "metadata": metadata, "spec": {"template": template}}


def objects(kind: str, **contents: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "given", "namespace": "gpu-system"}, **contents}


def component(container: dict[str, Any], *more: dict[str, Any], **pod: Any) -> Component:
    item = daemon_set(container, **pod)
    workload = workload_of(item)
    assert workload is not None
    (found,) = Pod(workload, [item, *more]).components(IMAGE)
    return found


def options(container: dict[str, Any], **pod: Any) -> tuple[str, ...]:
    spec = component(container, **pod).container
    assert spec is not None
    return spec.options


def mounts(container: dict[str, Any], *more: dict[str, Any], **pod: Any) -> tuple[Mount, ...]:
    spec = component(container, *more, **pod).container
    assert spec is not None
    assert spec.mounts is not None
    return spec.mounts


def test_command_arguments_and_variables_are_the_pod_s() -> None:
    env = [
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
        {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "BOTH", "value": "$(NODE)/$(APP)/{x}"},
    ]
    found = component({"command": ["/bin/{d}", "-v"], "args": ["$(BOTH)", "$$(NODE)"], "env": env})
    filled = found.filled(VALUES)
    assert filled.container is not None
    assert filled.container.entrypoint == "/bin/{d}"
    assert filled.command == ("-v", "n-1/gpu/{x}", "$(NODE)")
    assert filled.env == {"NODE": "n-1", "UID": "u-1", "APP": "gpu", "BOTH": "n-1/gpu/{x}"}
    assert found.registers


def test_names_that_are_not_known_stay_as_they_are() -> None:
    assert expanded("$(A) $(B) $ $$ $$$(A)", {"A": "a"}) == "a $(B) $ $ $a"


def test_config_maps_and_secrets_are_taken_from_the_manifests() -> None:
    config = objects("ConfigMap", data={"a": "1", "b": "2"})
    secret = objects("Secret", data={"key": base64.b64encode(b"s").decode()})
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "given", "key": "a"}}},
        {"name": "K", "valueFrom": {"secretKeyRef": {"name": "given", "key": "key"}}},
        {
            "name": "NONE",
            "valueFrom": {"secretKeyRef": {"name": "x", "key": "y", "optional": True}},
        },
    ]
    more = [{"prefix": "P_", "configMapRef": {"name": "given"}}]
    found = component({"env": env, "envFrom": more}, config, secret)
    assert found.env == {"P_a": "1", "P_b": "2", "A": "1", "K": "s"}
    with pytest.raises(PodSpecError, match="Secret given of namespace gpu-system is not among"):
        component({"env": env[1:2]}, config)


def test_volumes_are_paths_of_the_node_empty_directories_and_files() -> None:
    config = objects("ConfigMap", data={"a": "1", "b": "2"})
    volumes = [
        {"name": "registry", "hostPath": {"path": "/var/lib/kubelet/plugins_registry/"}},
        {"name": "empty", "emptyDir": {}},
        {"name": "files", "configMap": {"name": "given", "items": [{"key": "a", "path": "x/a"}]}},
    ]
    mounted = [
        {"name": "registry", "mountPath": "/registration"},
        {"name": "empty", "mountPath": "/tmp", "subPath": "sub", "readOnly": True},
        {"name": "files", "mountPath": "/config"},
    ]
    assert mounts({"volumeMounts": mounted}, config, volumes=volumes) == (
        Mount(inside="/registration", host="/var/lib/kubelet/plugins_registry"),
        Mount(inside="/tmp", volume="empty", sub="sub", read_only=True),
        Mount(inside="/config", files={"x/a": b"1"}),
    )


def test_what_reaches_the_registry_registers_and_a_sidecar_does_not() -> None:
    volumes = [{"name": "kubelet", "hostPath": {"path": "/var/lib/kubelet"}}]
    item = daemon_set({"volumeMounts": [{"name": "kubelet", "mountPath": "/k"}]}, volumes=volumes)
    pod = item["spec"]["template"]["spec"]
    pod["containers"] += [{"name": "side", "image": IMAGE}, {"name": "other", "image": "x"}]
    workload = workload_of(item)
    assert workload is not None
    found = Pod(workload, [item]).components(IMAGE)
    assert [(each.name, each.registers) for each in found] == [("plugin", True), ("side", False)]


@pytest.mark.parametrize(
    ("volume", "mount", "text"),
    [
        ({"hostPath": {"path": "dev"}}, {}, "the host path 'dev' is not absolute"),
        ({"csi": {"driver": "d"}}, {}, "csi is not there without a cluster"),
        ({"emptyDir": {}}, {"subPath": "../../etc"}, "leads elsewhere"),
        ({"configMap": {"name": "x"}}, {}, "ConfigMap x of namespace gpu-system is not among"),
        ({"emptyDir": {}}, {"mountPath": "etc"}, "cannot be mounted"),
        ({"emptyDir": {}}, {"name": "none"}, "there is no volume 'none'"),
    ],
)
def test_volumes_that_cannot_be(volume: Any, mount: Any, text: str) -> None:
    mounted = [{"name": "v", "mountPath": "/v", **mount}]
    with pytest.raises(PodSpecError, match=text):
        mounts({"volumeMounts": mounted}, volumes=[{"name": "v", **volume}])


def test_security_is_the_container_s_before_the_pod_s() -> None:
    own = {
        "privileged": True,
        "capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]},
        "runAsUser": 7,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
    }
    whole = {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3}
    assert options({"securityContext": own}, securityContext=whole, hostPID=True) == (
        "--privileged",
        "--cap-add=SYS_ADMIN",
        "--cap-drop=ALL",
        "--user=7:2",
        "--group-add=3",
        "--read-only",
        "--security-opt=no-new-privileges",
        "--pid=host",
    )
    assert options({}) == ()


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({"capabilities": {"add": ["--volume=/:/host"]}}, "is no capability"),
        ({"runAsUser": "0 --privileged"}, "is no id of a user or group"),
    ],
)
def test_security_that_has_no_sense(own: Any, text: str) -> None:
    with pytest.raises(PodSpecError, match=text):
        options({"securityContext": own})


def test_a_field_that_only_a_cluster_knows_is_told() -> None:
    env = [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "status.startTime"}}}]
    with pytest.raises(PodSpecError, match=r"variable X: the field status\.startTime of a"):
        component({"env": env})
