"""Claims and pods as objects: what is asked for, and who uses it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.spec import Json

STAY: Final = 'trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done'
"""A container that does nothing and ends at once when it is asked to."""

GRACE_S: Final = 5
"""Grace period of the pods: they need none, and a kubelet waits no longer."""

CONTAINER: Final = "main"
CLAIM: Final = "devices"
REQUEST: Final = "device"
"""Names within a pod or claim where a case needs one only."""

IMPLICIT: Final = "deviceclass.resource.kubernetes.io"
"""Domain of the extended resources that classes have without naming one."""

HOST_NAME: Final = "kubernetes.io/hostname"

ADMIN: Final = "resource.kubernetes.io/admin-access"
"""Label of namespaces whose claims may ask for admin access (contract 1.5)."""

TOLERATIONS: Final = ({"operator": "Exists"}, {"operator": "Exists", "effect": "NoExecute"})
"""Of all taints of devices: the controller that evicts pods looks at those alone that name the
effect, as of Kubernetes 1.37."""

ALL: Final = "All"
"""Allocation mode of a request for every device that matches."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request of a claim: so many devices of a class that match the selectors (CEL).

    ``every``: all of them; ``admin``: also those that others use. ``tolerated``: taints of any key
    do no harm. ``capacity``: so much of each device. ``alternatives``: the first of them that can
    be had is taken, and nothing else of this one counts but its name.
    """

    device_class: str = ""
    name: str = REQUEST
    count: int = 1
    selectors: tuple[str, ...] = ()
    every: bool = False
    admin: bool = False
    tolerated: bool = False
    capacity: Mapping[str, str] = dataclasses.field(default_factory=dict)
    alternatives: tuple[Ask, ...] = ()

    def body(self) -> Json:
        """The request as an object of resource.k8s.io/v1."""
        if self.alternatives:
            several = [{"name": each.name, **each.wanted()} for each in self.alternatives]
            return {"name": self.name, "firstAvailable": several}
        return {"name": self.name, "exactly": self.wanted()}

    def wanted(self) -> Json:
        """What is asked for, without the name."""
        wanted: Json = {"deviceClassName": self.device_class}
        if self.every:
            wanted["allocationMode"] = ALL
        elif self.count != 1:
            wanted["count"] = self.count
        if self.admin:
            wanted["adminAccess"] = True
        if self.tolerated:
            wanted["tolerations"] = [dict(each) for each in TOLERATIONS]
        if self.capacity:
            wanted["capacity"] = {"requests": dict(self.capacity)}
        if self.selectors:
            wanted["selectors"] = [{"cel": {"expression": each}} for each in self.selectors]
        return wanted


def claim_spec(*asks: Ask, config: Sequence[Json] = ()) -> Json:
    """The spec of a claim with these requests, and :func:`settings` for them."""
    devices: Json = {"requests": [each.body() for each in asks]}
    if config:
        devices["config"] = list(config)
    return {"devices": devices}


def settings(driver: str, parameters: Json, *, requests: Sequence[str] = ()) -> Json:
    """An entry of a claim's or class's configuration, for these requests or for all."""
    opaque = {"opaque": {"driver": driver, "parameters": parameters}}
    return {"requests": list(requests), **opaque} if requests else opaque


def room(name: str, *, admin: bool) -> Json:
    """A namespace; ``admin``: its claims may ask for admin access."""
    labels = {"labels": {ADMIN: "true"}} if admin else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **labels}}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a container uses: claims by their name in the pod, with a request or all (None).

    ``first``: it initialises the pod. ``command``: what it runs; None: it does nothing until it is
    ended. ``limits``: resources by name. ``mounts``: folders of the node by path in the container.
    """

    name: str = CONTAINER
    claims: tuple[tuple[str, str | None], ...] = ()
    first: bool = False
    command: tuple[str, ...] | None = None
    limits: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mounts: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def body(self, image: str) -> Json:
        """The container as an object."""
        command = ("sh", "-c", STAY) if self.command is None else self.command
        claims = [
            {"name": claim, **({"request": request} if request else {})}
            for claim, request in self.claims
        ]
        made: Json = {"name": self.name, "image": image, "imagePullPolicy": "IfNotPresent"}
        made["command"] = list(command)
        if claims:
            made["resources"] = {"claims": claims}
        if self.limits:
            made.setdefault("resources", {})["limits"] = dict(self.limits)
        if self.mounts:
            made["volumeMounts"] = [
                {"name": volume_name(folder), "mountPath": path}
                for path, folder in self.mounts.items()
            ]
        return made


NODE_FOLDER: Final = "/run/pytest-dra"
"""Folder of a node that pods of LIFE-012 share, gone when the node boots."""


def implicit(device_class: str) -> str:
    """The extended resource that a class is without naming one."""
    return f"{IMPLICIT}/{device_class}"


def volume_name(folder: str) -> str:
    """Name of the volume that is a folder of the node."""
    return folder.strip("/").replace("/", "-").lower()


def pod_spec(
    *,
    image: str,
    node: str,
    uses: Sequence[Use],
    claims: Mapping[str, str] | None = None,
    templates: Mapping[str, str] | None = None,
    scheduler: str = "",
) -> Json:
    """The spec of a pod that does nothing with devices.

    Args:
        image: has a shell.
        node: where it has to run; the scheduler decides whether it can.
        uses: its containers; those with ``first`` initialise it.
        claims: names of claims by their names in the pod.
        templates: the same, of templates.
        scheduler: who decides where it runs; "": whoever does by default.
    """
    entries = [{"name": name, "resourceClaimName": claim} for name, claim in (claims or {}).items()]
    entries += [
        {"name": name, "resourceClaimTemplateName": template}
        for name, template in (templates or {}).items()
    ]
    spec: Json = {
        "nodeSelector": {HOST_NAME: node},
        "terminationGracePeriodSeconds": GRACE_S,
        "restartPolicy": "Never",
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "containers": [each.body(image) for each in uses if not each.first],
    }
    first = [each for each in uses if each.first]
    if first:
        spec["initContainers"] = [each.body(image) for each in first]
    folders = dict.fromkeys(folder for each in uses for folder in each.mounts.values())
    if folders:
        spec["volumes"] = [
            {
                "name": volume_name(folder),
                "hostPath": {"path": folder, "type": "DirectoryOrCreate"},
            }
            for folder in folders
        ]
    if scheduler:
        spec["schedulerName"] = scheduler
    if entries:
        spec["resourceClaims"] = entries
    return spec
