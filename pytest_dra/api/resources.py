"""The resources of the Kubernetes API that a DRA driver, a kubelet or this suite touches."""

from __future__ import annotations

import dataclasses
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """One resource: ``group`` is "" for the core group, ``plural`` the name in the URL."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """``group/version``, or only the version in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """``plural.group`` as messages name it; only the plural in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """The URL path of the collection, or of one object, below the server's address.

        Raises:
            ValueError: a name of a namespaced resource without namespace, a namespace for a
                cluster-scoped one, or a subresource without name.
        """
        if namespace is not None and not self.namespaced:
            raise ValueError(f"{self.qualified} is cluster-scoped: got namespace {namespace!r}")
        if name is not None and self.namespaced and namespace is None:
            raise ValueError(f"{self.qualified} {name!r}: a namespace is needed")
        if subresource is not None and name is None:
            raise ValueError(f"{self.qualified}: subresource {subresource!r} needs a name")
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if namespace is not None:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part is not None]
        return "/".join(parts)


RESOURCE_GROUP: Final = "resource.k8s.io"
"""The API group of Dynamic Resource Allocation."""

RESOURCE_SLICES: Final = Resource(RESOURCE_GROUP, "v1", "resourceslices", "ResourceSlice", False)
RESOURCE_CLAIMS: Final = Resource(RESOURCE_GROUP, "v1", "resourceclaims", "ResourceClaim", True)
RESOURCE_CLAIM_TEMPLATES: Final = Resource(
    RESOURCE_GROUP, "v1", "resourceclaimtemplates", "ResourceClaimTemplate", True
)
DEVICE_CLASSES: Final = Resource(RESOURCE_GROUP, "v1", "deviceclasses", "DeviceClass", False)
DEVICE_TAINT_RULES: Final = Resource(
    RESOURCE_GROUP, "v1", "devicetaintrules", "DeviceTaintRule", False
)
POD_GROUPS: Final = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup", True)
"""Served where it has been turned on; claims of groups are in it since 1.36."""

NODES: Final = Resource("", "v1", "nodes", "Node", False)
PODS: Final = Resource("", "v1", "pods", "Pod", True)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", False)
EVENTS: Final = Resource("", "v1", "events", "Event", True)
EVENTS_K8S_IO: Final = Resource("events.k8s.io", "v1", "events", "Event", True)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", True)
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap", True)
SECRETS: Final = Resource("", "v1", "secrets", "Secret", True)
SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount", True)
