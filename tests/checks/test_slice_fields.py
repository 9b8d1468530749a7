"""Judgements of the fields of slices: what they say."""

from __future__ import annotations

import pytest

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.checks import slice_fields
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said

SLICE = "ResourceSlice s1 of pool 'pool-a'"
NODE: Json = {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "u"}
ONE_CHOICE = "exactly one of nodeName, nodeSelector, allNodes, not empty or false"


def body(*devices: Json, owners: list[Json] | None = None, **spec: object) -> Json:
    """A slice of node-a."""
    return {
        "metadata": {"name": "s1", "ownerReferences": owners or []},
        "spec": {"pool": {"name": "pool-a"}, "nodeName": "node-a", "devices": devices, **spec},
    }


def refused(field: str, message: str, *, code: int = 422) -> Entry[ApiRequest]:
    """An update that the API server has refused for one field."""
    answer = {"message": "no", "details": {"causes": [{"field": field, "message": message}]}}
    event = ApiRequest(
        identity="driver",
        verb="update",
        group="resource.k8s.io",
        version="v1",
        resource="resourceslices",
        namespace="",
        name="s1",
        subresource="",
        query="",
        user_agent="",
        body=body(),
        code=code,
        answer=answer,
        duration_s=0.0,
    )
    return Entry(7, 1.0, False, event)


def limits(bodies: list[Json], kubernetes: str = "1.37") -> Judgement:
    found = kubernetes_version(kubernetes).limits
    return lambda: slice_fields.limits_must_be_kept(bodies, limits=found, kubernetes=kubernetes)


def many(count: int, **first: object) -> Json:
    return body({"name": "gpu-0", **first}, *({"name": f"gpu-{n}"} for n in range(1, count)))


TAINTED: Json = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
LISTED: Json = {"attributes": {"a": {"strings": ["x"]}}}


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(
            lambda: slice_fields.owners_must_be_nodes(
                [
                    body(owners=[{"kind": "Pod"}, {**NODE, "controller": True, "more": 1}]),
                    body(nodeName=None),
                    body(nodeName="unknown"),
                ],
                uids={"node-a": "u"},
            ),
            id="V17 an owner, or none where there is no node",
        ),
        pytest.param(limits([many(128), many(64, **TAINTED)]), id="as many as may be"),
        pytest.param(limits([many(128, **TAINTED)], "1.34"), id="1.34 has one limit"),
        pytest.param(limits([many(128, **LISTED)], "1.35"), id="1.35 does not look at lists"),
        pytest.param(
            lambda: slice_fields.devices_must_choose_nodes(
                [
                    body({"name": "a"}),
                    body(
                        {"name": "a", "nodeName": "n"},
                        {"name": "b", "allNodes": True},
                        perDeviceNodeSelection=True,
                    ),
                ]
            ),
            id="node choices of devices",
        ),
        pytest.param(
            lambda: slice_fields.skipped_operations_must_be_legal(
                [
                    body(),
                    body(skipNodeOperations=["NodePrepareResources", "*"]),
                    body(skipNodeOperations=["NodeUnprepareResources", "Unknown"]),
                ]
            ),
            id="V08 skipped operations",
        ),
        pytest.param(
            lambda: slice_fields.writes_must_be_valid(
                [
                    refused("spec.devices[3].attributes[a]", "of ATTR"),
                    refused("spec.devices", "of SLICE-009"),
                    refused("spec.pool.name", "field is immutable"),
                    refused("spec.pool.generation", "a conflict is none", code=409),
                ]
            ),
            id="refusals of other cases",
        ),
        pytest.param(
            lambda: slice_fields.fixed_fields_must_stay([refused("spec.pool.name", "too long")]),
            id="another refusal of the same field",
        ),
    ],
)
def test_good_slices_are_let_pass(judgement: Judgement) -> None:
    assert said(judgement) is None


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        pytest.param(
            lambda: slice_fields.owners_must_be_nodes([body(owners=[NODE])], uids={"node-a": "u"}),
            Said(
                f"metadata.ownerReferences of {SLICE}",
                [{**NODE, "controller": None}],
                f"the Node: {NODE | {'controller': True}}",
            ),
            id="owner-not-controller",
        ),
        pytest.param(
            limits([many(129)]),
            Said(f"spec.devices of {SLICE}", "129 devices", "at most 128 (Kubernetes 1.37)"),
            id="too-many",
        ),
        pytest.param(
            limits([many(65, **TAINTED)]),
            Said(
                f"spec.devices of {SLICE}",
                "65 devices",
                "at most 64, since 'gpu-0' has taints (Kubernetes 1.37)",
            ),
            id="too-many-with-taints",
        ),
        pytest.param(
            limits([many(65, **LISTED)]),
            Said(
                f"spec.devices of {SLICE}",
                "65 devices",
                "at most 64, since 'gpu-0' has a list attribute (Kubernetes 1.37)",
            ),
            id="too-many-with-lists",
        ),
        pytest.param(
            lambda: slice_fields.all_must_be_published([many(3)], wanted=130, within_s=30),
            Said(
                "start with 130 devices",
                "3 devices in 1 slices",
                "at least 130 devices within 30 s",
            ),
            id="not-all",
        ),
        *(
            pytest.param(
                lambda device=device: slice_fields.devices_must_choose_nodes(
                    [body({"name": "a", **device}, perDeviceNodeSelection=True)]
                ),
                Said(f"device 'a' of {SLICE}", device, ONE_CHOICE),
                id=f"choice-{device}",
            )
            for device in ({}, {"nodeName": ""}, {"allNodes": True, "nodeName": "n"})
        ),
        pytest.param(
            lambda: slice_fields.devices_must_choose_nodes([body({"name": "a", "nodeName": "n"})]),
            Said(
                f"device 'a' of {SLICE}",
                {"nodeName": "n"},
                "no node choice, since the slice does not set perDeviceNodeSelection",
            ),
            id="choice-unasked",
        ),
        pytest.param(
            lambda: slice_fields.skipped_operations_must_be_legal(
                [body(skipNodeOperations=["*", "*"])]
            ),
            Said(f"spec.skipNodeOperations of {SLICE}", ["*", "*"], "no value twice"),
            id="skip-twice",
        ),
        pytest.param(
            lambda: slice_fields.skipped_operations_must_be_legal(
                [body(skipNodeOperations=["NodePrepareResources"])]
            ),
            Said(
                f"spec.skipNodeOperations of {SLICE}",
                ["NodePrepareResources"],
                "NodePrepareResources only with NodeUnprepareResources or *",
            ),
            id="skip-prepare-alone",
        ),
        pytest.param(
            lambda: slice_fields.writes_must_be_valid(
                [refused("spec.pool.generation", "Invalid value: -1")]
            ),
            Said(
                f"update of {SLICE}",
                "422: spec.pool.generation: Invalid value: -1",
                "a slice that passes the validation of the API server",
                (7,),
            ),
            id="refused",
        ),
        pytest.param(
            lambda: slice_fields.fixed_fields_must_stay(
                [refused("spec.nodeName", "field is immutable")]
            ),
            Said(
                "update of ResourceSlice s1",
                "spec.nodeName changed: field is immutable",
                "a new slice in place of the old one: the field is immutable",
                (7,),
            ),
            id="immutable",
        ),
    ],
)
def test_bad_slices_are_told_with_place_value_and_wish(
    judgement: Judgement, expected: Said
) -> None:
    assert said(judgement) == expected
