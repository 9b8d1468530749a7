"""What the fuzz writes: kinds, a valid body of each, and edits of that body.

``edits`` and ``status`` map paths to values that are mostly legal; ``spoils`` to values that
mostly are not. A value may be a form of the script language.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from pytest_dra.spec import Json
from tests.upstream.apiservermeta import Edits

_UNSET: Final = {"$unset": True}
_TIME: Final = "2026-01-01T00:00:00Z"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One kind of the grammar.

    ``path`` is its collection in the script language, ``versions`` are others that serve the same
    objects, ``fields`` its field labels, ``sub`` the subresources with an update.
    """

    path: str
    body: Json
    edits: Edits = dataclasses.field(default_factory=dict)
    status: Edits = dataclasses.field(default_factory=dict)
    spoils: Edits = dataclasses.field(default_factory=dict)
    sub: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    fields: tuple[str, ...] = ("metadata.name=n0", "metadata.name!=n0")
    namespaced: bool = True


_REQUEST: Final = {"name": "r0", "exactly": {"deviceClassName": "gpu.example.com"}}
_CEL: Final = [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]
_OPAQUE: Final = {"opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}
_REQUESTS: Final = "spec.devices.requests"

_CLAIM_EDITS: Final[Edits] = {
    _REQUESTS: (
        [{"name": "r0", "exactly": {"deviceClassName": "x", "count": 2}}],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "allocationMode": "All"}}],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "selectors": _CEL}}],
        [{"name": "r0", "firstAvailable": [{"name": "s0", "deviceClassName": "x"}]}],
        [_REQUEST, {"name": "r1", "exactly": {"deviceClassName": "y"}}],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "tolerations": [{"key": "a"}]}}],
        [
            {
                "name": "r0",
                "exactly": {
                    "deviceClassName": "x",
                    "capacity": {"requests": {"memory": "1024Mi"}},
                },
            }
        ],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "adminAccess": True}}],
        [],
        None,
    ),
    "spec.devices.constraints": (
        [{"requests": ["r0"], "matchAttribute": "gpu.example.com/model"}],
        [{"matchAttribute": "gpu.example.com/model"}],
        [{"distinctAttribute": "gpu.example.com/model"}],
        [],
    ),
    "spec.devices.config": ([_OPAQUE], [{**_OPAQUE, "requests": ["r0"]}], []),
}
_CLAIM_SPOILS: Final[Edits] = {
    _REQUESTS: (
        [{"name": "r0"}],
        [{"name": "R0", "exactly": {"deviceClassName": "x"}}],
        [_REQUEST, _REQUEST],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "count": -1}}],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "count": "1"}}],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "allocationMode": "Some"}}],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "allocationMode": "All", "count": 3}}],
        [{"name": "r0", "exactly": {"deviceClassName": "A_"}}],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "selectors": [{}]}}],
        [
            {
                "name": "r0",
                "exactly": {
                    "deviceClassName": "x",
                    "selectors": [{"cel": {"expression": "1 +"}}],
                },
            }
        ],
        [{**_REQUEST, "firstAvailable": [{"name": "s0", "deviceClassName": "x"}]}],
        [{"name": "r0", "firstAvailable": [{"name": "s0", "deviceClassName": ""}]}],
        [{"name": "r0", "exactly": {"deviceClassName": "x", "tolerations": [{"operator": "In"}]}}],
        {"$list": [33, {"name": "r${i}", "exactly": {"deviceClassName": "x"}}]},
        {"a": 1},
    ),
    "spec.devices.constraints": (
        [{}],
        [{"requests": ["zz"], "matchAttribute": "gpu.example.com/model"}],
        [{"requests": ["r0", "r0"], "matchAttribute": "model"}],
        [{"matchAttribute": "a.example.com/b", "distinctAttribute": "a.example.com/b"}],
    ),
    "spec.devices.config": (
        [{}],
        [{"opaque": {"driver": "", "parameters": {}}}],
        [{"opaque": {"driver": "A", "parameters": None}}],
        [{**_OPAQUE, "requests": ["zz"]}],
    ),
    "spec.devices": ([], "x", None),
    "spec": (None, [], _UNSET),
}

_RESULT: Final = {"request": "r0", "driver": "gpu.example.com", "pool": "p", "device": "d0"}
_ALLOCATION: Final = {
    "devices": {"results": [_RESULT]},
    "nodeSelector": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}
        ]
    },
}
_DEVICE: Final = {"driver": "gpu.example.com", "pool": "p", "device": "d0"}
_CONDITION: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "Ok",
    "message": "",
    "lastTransitionTime": _TIME,
}

CLAIMS: Final = Written(
    path="claims",
    body={
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "n0"},
        "spec": {"devices": {"requests": [_REQUEST]}},
    },
    edits=_CLAIM_EDITS,
    spoils=_CLAIM_SPOILS,
    status={
        "status.allocation": (
            _ALLOCATION,
            {"devices": {"results": [_RESULT]}},
            {},
            {"devices": {"results": [{**_RESULT, "device": "d1"}]}},
            {"devices": {"results": [_RESULT, {**_RESULT, "device": "d1"}]}},
            {"devices": {"results": [{**_RESULT, "request": "zz"}]}},
            None,
        ),
        "status.reservedFor": (
            [{"resource": "pods", "name": "p", "uid": "u1"}],
            [{"resource": "pods", "name": "p", "uid": "u1"}, {"resource": "x", "name": "q"}],
            [{"resource": "pods", "name": "p", "uid": "u1"}] * 2,
            [],
            [
                {"resource": "pods", "name": "p", "uid": "u2"},
                {"resource": "pods", "name": "p", "uid": "u1"},
            ],
        ),
        "status.devices": (
            [_DEVICE],
            [{**_DEVICE, "data": {"a": [1, "x"]}}],
            [{**_DEVICE, "conditions": [_CONDITION]}],
            [{**_DEVICE, "conditions": [_CONDITION, _CONDITION]}],
            [{**_DEVICE, "conditions": [{"type": "Ready"}]}],
            [{**_DEVICE, "networkData": {"interfaceName": "eth0", "ips": ["10.0.0.1/24"]}}],
            [{**_DEVICE, "networkData": {"ips": ["10.0.0.1"]}}],
            [{**_DEVICE, "device": "d9"}],
            [_DEVICE, _DEVICE],
            [],
        ),
    },
    sub=("status",),
    versions=("v1beta2",),
)

_SLICE_DEVICE: Final = "spec.devices[0]"

SLICES: Final = Written(
    path="slices",
    body={
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "n0"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-a",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d0"}],
        },
    },
    edits={
        "spec.pool": (
            {"name": "p", "generation": 2, "resourceSliceCount": 1},
            {"name": "p/q", "resourceSliceCount": 3},
        ),
        "spec.devices": (
            [{"name": "d0"}, {"name": "d1"}],
            [],
            None,
            {"$list": [5, {"name": "d${i}"}]},
        ),
        f"{_SLICE_DEVICE}.attributes": (
            {"model": {"string": "a"}},
            {"i": {"int": 0}, "b": {"bool": False}, "v": {"version": "1.2.3"}},
            {"gpu.example.com/model": {"string": ""}},
            {},
        ),
        f"{_SLICE_DEVICE}.capacity": (
            {"memory": {"value": "1024Mi"}},
            {"memory": {"value": 1}, "c": {"value": "1.5"}},
        ),
        f"{_SLICE_DEVICE}.taints": (
            [{"key": "a", "effect": "NoSchedule"}],
            [{"key": "a", "effect": "NoExecute", "value": "x", "timeAdded": _TIME}],
        ),
        f"{_SLICE_DEVICE}.bindingConditions": (["a"], []),
        f"{_SLICE_DEVICE}.allowMultipleAllocations": (True, False),
        "spec.sharedCounters": (
            [{"name": "cs", "counters": {"m": {"value": "1"}}}],
            [],
        ),
        "spec.nodeName": ("node-b",),
        "spec.driver": ("b.example.com",),
    },
    spoils={
        "spec.nodeName": (_UNSET, "", "A_"),
        "spec.allNodes": (True, False),
        "spec.perDeviceNodeSelection": (True,),
        "spec.driver": ("", "A_b", {"$repeat": ["x", 64]}),
        "spec.pool": (
            {},
            _UNSET,
            {"name": "p", "generation": -1, "resourceSliceCount": 0},
            {"name": "/", "resourceSliceCount": 1},
            {"name": "p", "generation": 1.0, "resourceSliceCount": 1},
        ),
        "spec.devices": (
            [{"name": "D0"}],
            [{"name": "d0"}, {"name": "d0"}],
            [{}],
            {"$list": [129, {"name": "d${i}"}]},
            "x",
        ),
        f"{_SLICE_DEVICE}.attributes": (
            {"a": {}},
            {"a": {"int": 1, "bool": True}},
            {"a-b": {"int": 1}},
            {"v": {"version": "1"}},
            {"a": {"int": "1"}},
            {"a": None},
        ),
        f"{_SLICE_DEVICE}.capacity": (
            {"m": {"value": "1 Gi"}},
            {"m": {}},
            {"m-": {"value": 1}},
            {"m": {"value": "1", "requestPolicy": {"default": "2"}}},
        ),
        f"{_SLICE_DEVICE}.taints": (
            [{"key": "", "effect": "NoSchedule"}],
            [{"key": "a", "effect": "Never"}],
            [{"key": "a", "effect": "None"}],
        ),
        f"{_SLICE_DEVICE}.consumesCounters": (
            [{"counterSet": "cs", "counters": {"m": {"value": "1"}}}],
            [{"counterSet": "", "counters": {}}],
        ),
        f"{_SLICE_DEVICE}.bindingConditions": (["a", "a"], ["a b"]),
        f"{_SLICE_DEVICE}.nodeName": ("node-a",),
    },
    namespaced=False,
    versions=("v1beta2",),
    fields=(
        "spec.driver=gpu.example.com",
        "spec.nodeName=node-a",
        "spec.nodeName!=node-a",
        "spec.nodeName=",
        "spec.pool.name=p",
        "metadata.name=n0",
        "metadata.namespace=x",
        "spec.driver=gpu.example.com,spec.nodeName=node-b",
    ),
)

TEMPLATES: Final = Written(
    path="templates",
    body={
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "n0"},
        "spec": {"spec": {"devices": {"requests": [_REQUEST]}}},
    },
    edits={
        "spec.metadata": ({"labels": {"a": "b"}}, {"annotations": {"x": "y"}}, {}),
        **{path.replace("spec.", "spec.spec.", 1): put for path, put in _CLAIM_EDITS.items()},
    },
    spoils={
        "spec.metadata": (
            {"name": "x"},
            {"labels": {"a b": "c"}},
            {"finalizers": ["x.example.com/y"]},
            {"namespace": "z"},
        ),
        **{path.replace("spec", "spec.spec", 1): put for path, put in _CLAIM_SPOILS.items()},
    },
    versions=("v1beta2",),
)

CLASSES: Final = Written(
    path="classes",
    body={
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "n0"},
        "spec": {},
    },
    edits={
        "spec.selectors": (_CEL, [], [*_CEL, *_CEL]),
        "spec.config": ([_OPAQUE], []),
        "spec.extendedResourceName": ("example.com/gpu",),
    },
    spoils={
        "spec.selectors": ([{}], [{"cel": {"expression": "x"}}], [{"cel": {"expression": ""}}]),
        "spec.config": ([{}], [{"opaque": {"driver": "A_"}}]),
        "spec.extendedResourceName": ("bad name", "", "cpu", "kubernetes.io/x"),
        "spec": (None, "x"),
    },
    namespaced=False,
    versions=("v1beta1", "v1beta2"),
    fields=("metadata.name=n0", "metadata.namespace=", "spec.x=y"),
)

RULES: Final = Written(
    path="rules",
    body={
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "n0"},
        "spec": {
            "deviceSelector": {"driver": "gpu.example.com"},
            "taint": {"key": "a", "effect": "NoExecute"},
        },
    },
    edits={
        "spec.taint": (
            {"key": "a", "effect": "NoSchedule", "timeAdded": _TIME},
            {"key": "a", "effect": "None", "value": "x"},
        ),
        "spec.deviceSelector": ({"pool": "p"}, {"device": "d0"}, {}, None),
    },
    status={
        "status.conditions": (
            [_CONDITION],
            [{**_CONDITION, "type": "Other"}],
            [_CONDITION, _CONDITION],
            [{"type": ""}],
            [],
        )
    },
    spoils={
        "spec.taint": ({}, {"key": "", "effect": "x"}, {"key": "a"}, _UNSET),
        "spec.deviceSelector": ({"driver": "A_"}, {"pool": "/"}, {"device": "D"}),
        "spec": (None,),
    },
    namespaced=False,
    sub=("status",),
)
