"""Manifests for an image that comes with none: a DaemonSet with the usual rights and directories.

They are ours, and nothing of the driver's is judged by them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pytest_dra.checks.workloads import NODE_CRITICAL
from pytest_dra.checks.workloads import PLUGINS
from pytest_dra.checks.workloads import REGISTRY
from pytest_dra.launch.component import variables
from pytest_dra.launch.error import LaunchError
from pytest_dra.launch.filling import fill
from pytest_dra.launch.view import CDI_DIR
from pytest_dra.launch.view import STATIC_CDI_DIR
from pytest_dra.live.shipment import ShipmentError
from pytest_dra.live.shipment import ordered
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment

MARK: Final = "pytest-dra.dev/generated"
"""Annotation of the DaemonSet that is ours and not the vendor's."""

PREFIX: Final = "dra-driver-"

NAME_MAX: Final = 50
"""Characters of the driver's name in names of objects: labels hold 63 in all."""

CONTAINER: Final = "plugin"

MANIFESTS: Final = "--dra-manifests=FILE, DIR or CHART"

PLACES: Final = {
    "node": "$(NODE_NAME)",
    "pod_uid": "$(POD_UID)",
    "registry_dir": REGISTRY,
    "plugins_dir": PLUGINS,
    "cdi_dir": CDI_DIR,
    "static_cdi_dir": STATIC_CDI_DIR,
}
"""What placeholders of the option mean in a pod; the first two are variables of it."""

NAMES: Final = {"NODE_NAME": "spec.nodeName", "POD_UID": "metadata.uid"}
"""Variables, and the fields of a pod that they have."""

RULES: Final[Sequence[Json]] = (
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceslices"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims", "deviceclasses"],
        "verbs": ["get", "list", "watch"],
    },
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims/status"],
        "verbs": ["update", "patch"],
    },
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims/driver"],
        "verbs": ["associated-node:update", "associated-node:patch"],
    },
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
)
"""What a plugin on Kubernetes' own helper asks for, device status with it."""


def objects_for(driver: str) -> list[Json]:
    """The manifests for a driver, in the order in which they are made; the image is still to come.

    Its DeviceClass has the driver's name, and selects all its devices.
    """
    name = f"{PREFIX}{_slug(driver)}"
    rbac = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": name, "namespace": name}
    return ordered(
        [
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": name,
                    # The plugin's pods have directories of the host.
                    "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
                },
            },
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": name},
            },
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRole",
                "metadata": {"name": name},
                "rules": list(RULES),
            },
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
                "subjects": [account],
            },
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": driver},
                "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
            },
            _daemon_set(name, driver),
        ]
    )


def fill_arguments(objects: Sequence[Json], driver: str) -> None:
    """Put what placeholders mean in a pod into the arguments of the plugin's container.

    Args:
        objects: changed in place.
        driver: the driver's name.

    Raises:
        ShipmentError: one of them means nothing there.
    """
    values = {**PLACES, "driver_name": driver, "driver_dir": f"{PLUGINS}/{driver}"}
    for item in objects:
        if item["kind"] == "DaemonSet":
            (container,) = item["spec"]["template"]["spec"]["containers"]
            try:
                container["args"] = [
                    fill(text, values, where="in a pod") for text in container.get("args") or ()
                ]
            except LaunchError as error:
                raise ShipmentError(
                    f"{error}. A pod has no kubeconfig; what it needs else is in its manifests: "
                    f"{MANIFESTS}"
                ) from error


def must_be_shipped(item: Json) -> None:
    """Raises UnsupportedEnvironment for a DaemonSet of ours, by which no vendor can be judged."""
    if MARK in (item["metadata"].get("annotations") or {}):
        raise UnsupportedEnvironment(
            "the driver's manifests were made by the suite", way_out=MANIFESTS
        )


def _slug(driver: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", driver.lower())[:NAME_MAX].strip("-") or "unnamed"


def _daemon_set(name: str, driver: str) -> Json:
    folders = {
        "registry": REGISTRY,
        "plugins": PLUGINS,
        # Some drivers want to find their own directory.
        "own": f"{PLUGINS}/{driver}",
        "cdi": CDI_DIR,
        "static-cdi": STATIC_CDI_DIR,
    }
    values = {**PLACES, "kubeconfig": "", "driver_name": driver}
    env: list[Json] = [
        {"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in NAMES.items()
    ]
    env += [
        {"name": key, "value": text}
        for key, text in variables(values).items()
        if text in folders.values()
    ]
    container: Json = {
        "name": CONTAINER,
        "image": CONTAINER,
        "env": env,
        # As what is under test is not known: it may need devices, mounts and any file.
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": key, "mountPath": path} for key, path in folders.items()],
    }
    pod: Json = {
        "serviceAccountName": name,
        "priorityClassName": NODE_CRITICAL,
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [
            {"name": key, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
            for key, path in folders.items()
        ],
    }
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": name, "annotations": {MARK: "true"}},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
