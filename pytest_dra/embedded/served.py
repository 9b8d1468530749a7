"""Which versions of resource.k8s.io a server serves, where a test wants others than usual."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.api.versions import KubernetesVersion

ALPHA: Final = "v1alpha3"
"""The version of the kinds that are alpha."""

VERSIONS: Final = ("v1", "v1beta2", "v1beta1", ALPHA)
"""Versions of resource.k8s.io in the order in which clients prefer them."""

POOL_STATUS_REQUESTS: Final = Resource(
    resources.RESOURCE_GROUP,
    ALPHA,
    "resourcepoolstatusrequests",
    "ResourcePoolStatusRequest",
    False,
)

_COMMON: Final = (
    resources.DEVICE_CLASSES,
    resources.RESOURCE_CLAIMS,
    resources.RESOURCE_CLAIM_TEMPLATES,
    resources.RESOURCE_SLICES,
)
"""What every version has that is not alpha."""

_ALPHA: Final = (
    dataclasses.replace(resources.DEVICE_TAINT_RULES, version=ALPHA),
    POOL_STATUS_REQUESTS,
)


def serving(version: KubernetesVersion, names: Sequence[str]) -> KubernetesVersion:
    """The same Kubernetes version, serving only ``names`` of resource.k8s.io.

    Raises:
        ValueError: a version is none of :data:`VERSIONS`.
    """
    unknown = sorted(set(names) - set(VERSIONS))
    if unknown or not names:
        raise ValueError(f"versions of resource.k8s.io: got {list(names)}, want some of {VERSIONS}")
    kept = [found for found in version.served if found.version in names]
    added = [
        dataclasses.replace(resource, version=name)
        for name in names
        for resource in (_ALPHA if name == ALPHA else _COMMON)
        if not any(found.version == name for found in kept)
    ]
    return dataclasses.replace(version, served=(*kept, *added))
