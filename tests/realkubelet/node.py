"""A kind node with the driver on it, whose sockets lie where no kubelet looks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_dra.api import resources
from pytest_dra.clusters.owner import Owner
from pytest_dra.kube import Client
from pytest_dra.launch.tool import call
from pytest_dra.live.asking import HOST_NAME
from pytest_dra.live.deployment import Deployment
from pytest_dra.live.deployment import marks_of
from pytest_dra.spec import Json
from tests.realkubelet.proxy import Place

DRIVER: Final = "test-driver.cdi.k8s.io"
ROOM: Final = "dra-recorded"
"""The driver's name, and the namespace of its pod."""

PROXIED: Final = "/var/lib/dra-proxied"
KUBELET: Final = "/var/lib/kubelet"
REGISTRY: Final = "plugins_registry"
PLUGINS: Final = "plugins"
"""Where the driver's sockets are on the node, and where it believes them to be."""

RBAC: Final = "rbac.authorization.k8s.io"

GRACE_S: Final = 2
SHORT_S: Final = 60.0


class Node:
    """See the module.

    Args:
        engine: the container engine's program.
        name: of the node, which is that of its container.
    """

    def __init__(self, engine: str, name: str) -> None:
        self.name = name
        self._engine = engine
        pid = self._asked("inspect", "--format", "{{.State.Pid}}", name).strip()
        self._root = Path(f"/proc/{pid}/root")

    def _asked(self, *words: str) -> str:
        return call([self._engine, *words], timeout_s=SHORT_S)

    def run(self, *argv: str) -> str:
        """Run a command there as root. Raises ToolError."""
        return self._asked("exec", self.name, *argv)

    def places(self) -> list[Place]:
        """Both directories of sockets, as they are seen from here; they are made, and empty."""
        self.run("rm", "-rf", PROXIED)
        for name in (REGISTRY, f"{PLUGINS}/{DRIVER}"):
            self.run("mkdir", "-p", f"{PROXIED}/{name}", f"{KUBELET}/{name}")
        return [
            Place(sock, self._at(f"{PROXIED}/{name}"), self._at(f"{KUBELET}/{name}"))
            for sock, name in (("reg", REGISTRY), ("dra", f"{PLUGINS}/{DRIVER}"))
        ]

    def _at(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    def checkpoint(self) -> Json:
        """What the kubelet keeps of prepared claims."""
        kept: Json = json.loads(json.loads(self.run("cat", f"{KUBELET}/dra_manager_state"))["Data"])
        return kept


def objects(image: str, node: str) -> list[Json]:
    """Namespace, rights, class and DaemonSet of the driver."""
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    account = {"kind": "ServiceAccount", "name": "default", "namespace": ROOM}
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    labels = {"app": ROOM}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ROOM}},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ROOM},
            "roleRef": role,
            "subjects": [account],
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": DRIVER},
            "spec": {"selectors": [selector]},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "driver", "namespace": ROOM},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": _pod(image, node)},
            },
        },
    ]


def _pod(image: str, node: str) -> Json:
    """The driver's, which sees its own directories where the kubelet's usually are."""
    mounts = {f"{KUBELET}/{name}": f"{PROXIED}/{name}" for name in (REGISTRY, PLUGINS)}
    mounts["/var/run/cdi"] = "/var/run/cdi"
    container: Json = {
        "name": "plugin",
        "image": image,
        "imagePullPolicy": "Never",
        "args": ["kubelet-plugin", f"--node-name={node}"],
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": f"v{n}", "mountPath": path} for n, path in enumerate(mounts)],
    }
    return {
        "nodeSelector": {HOST_NAME: node},
        "terminationGracePeriodSeconds": GRACE_S,
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [
            {"name": f"v{n}", "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
            for n, path in enumerate(mounts.values())
        ],
    }


@contextlib.contextmanager
def deployed(client: Client, items: list[Json]) -> Iterator[None]:
    """Make objects, and delete them at the end; returns when they and the slices are gone."""
    made = Deployment(client, marks=marks_of(ROOM, Owner.here()), objects=items)
    try:
        made.apply()
        yield
    finally:
        left = made.remove()
        for item in client.list(resources.RESOURCE_SLICES, field_selector=f"spec.driver={DRIVER}"):
            client.discard(resources.RESOURCE_SLICES, item["metadata"]["name"], grace_s=None)
        if left:
            raise RuntimeError(f"still there: {', '.join(left)}")
