"""Objects that are right, to be spoiled by tests."""

from __future__ import annotations

import copy
from typing import Any

import yaml

from pytest_dra.api.releases import LATEST
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.objects.findings import Finding
from pytest_dra.objects.judging import Review
from pytest_dra.objects.judging import review
from pytest_dra.objects.reading import parse
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Json

DRIVER = "gpu.example.com"


def device(name: str, **more: Any) -> Json:
    """A device with a model, a version and some memory."""
    return {
        "name": name,
        "attributes": {"model": {"string": "A1"}, "firmware": {"version": "1.2.3"}},
        "capacity": {"memory": {"value": "40Gi"}},
        **more,
    }


def resource_slice(name: str = "node-a-gpu", node: str = "node-a", **spec: Any) -> Json:
    """A slice of one node, a pool of its own."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": "u-1", "controller": True}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [device("gpu-0"), device("gpu-1")],
            **spec,
        },
    }


def device_class(name: str = "gpu", expression: str = f'device.driver == "{DRIVER}"') -> Json:
    """A class with one selector."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def claim(class_name: str = "gpu", *expressions: str, kind: str = "ResourceClaim") -> Json:
    """A claim (or template) with one request."""
    selectors = [{"cel": {"expression": text}} for text in expressions]
    exactly = {"deviceClassName": class_name, **({"selectors": selectors} if selectors else {})}
    spec: Json = {"devices": {"requests": [{"name": "one", "exactly": exactly}]}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "mine", "namespace": "default"},
        "spec": spec if kind == "ResourceClaim" else {"spec": spec},
    }


def node(name: str, uid: str) -> Json:
    """A Node as far as anybody looks at it."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": uid}}


def text_of(*objects: Json) -> bytes:
    """YAML of several documents, without aliases."""
    return b"---\n".join(
        yaml.safe_dump(copy.deepcopy(one), sort_keys=False).encode() for one in objects
    )


def reviewed(
    *objects: Json, kubernetes: str = LATEST, profile: DriverProfile = DEFAULT_PROFILE
) -> Review:
    """The review of objects."""
    return review(parse(text_of(*objects), "f.yaml"), kubernetes_version(kubernetes), profile)


def found(*objects: Json, kubernetes: str = LATEST) -> list[Finding]:
    """What a review finds."""
    return list(reviewed(*objects, kubernetes=kubernetes).findings)


def rules(*objects: Json, kubernetes: str = LATEST) -> set[str]:
    """The rules that are broken."""
    return {one.rule for one in found(*objects, kubernetes=kubernetes)}
