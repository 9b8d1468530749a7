"""The four patch types."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.embedded import patches
from pytest_dra.embedded import patching
from pytest_dra.embedded.errors import ApiError
from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import allocation
from tests.embedded.client import claim
from tests.embedded.client import slice_


def test_merge_patches_delete_with_null_and_replace_lists() -> None:
    target = {"a": {"b": 1, "c": 2}, "l": [1, 2]}
    assert patches.merge(target, {"a": {"b": None}, "l": [3]}) == {"a": {"c": 2}, "l": [3]}
    assert target == {"a": {"b": 1, "c": 2}, "l": [1, 2]}


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/l/-", "value": 3}, {"a": 1, "l": [1, 2, 3]}),
        ({"op": "add", "path": "/l/0", "value": 0}, {"a": 1, "l": [0, 1, 2]}),
        ({"op": "remove", "path": "/a"}, {"l": [1, 2]}),
        ({"op": "replace", "path": "/a", "value": 2}, {"a": 2, "l": [1, 2]}),
        ({"op": "move", "from": "/a", "path": "/b"}, {"b": 1, "l": [1, 2]}),
        ({"op": "copy", "from": "/a", "path": "/b"}, {"a": 1, "b": 1, "l": [1, 2]}),
        ({"op": "test", "path": "/a", "value": 1}, {"a": 1, "l": [1, 2]}),
        ({"op": "add", "path": "/x~1y", "value": 1}, {"a": 1, "l": [1, 2], "x/y": 1}),
    ],
)
def test_json_patch_operations(operation: Any, result: Any) -> None:
    assert patches.json_patch({"a": 1, "l": [1, 2]}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/none"},
        {"op": "shout", "path": "/a"},
        {"op": "add", "path": "/l/9", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a/b", "value": 1},
        {"op": "remove", "path": ""},
    ],
)
def test_a_failing_json_patch_is_422(operation: Any) -> None:
    with pytest.raises(ApiError) as caught:
        patches.json_patch({"a": 1, "l": [1, 2]}, [operation])
    assert caught.value.code == 422


def test_strategic_patches_merge_lists_by_key() -> None:
    owners = [{"uid": "1", "name": "a"}, {"uid": "2", "name": "b"}]
    target = {"metadata": {"ownerReferences": owners, "finalizers": ["a/x"]}}
    patch = {
        "metadata": {
            "ownerReferences": [{"uid": "2", "name": "c"}, {"uid": "1", "$patch": "delete"}],
            "finalizers": ["b/y"],
            "labels": {"a": "b"},
        }
    }
    assert patches.strategic("resource.ResourceSlice", target, patch) == {
        "metadata": {
            "ownerReferences": [{"uid": "2", "name": "c"}],
            "finalizers": ["b/y", "a/x"],
            "labels": {"a": "b"},
        }
    }


def test_patches_over_http(client: Client) -> None:
    client.post(SLICES, slice_())
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
    answer = client.patch(f"{SLICES}/s", operations, patching.JSON_PATCH)
    assert answer.json["metadata"]["labels"] == {"a": "b"}
    answer = client.patch(f"{SLICES}/s", {"metadata": {"labels": {"c": "d"}}}, patching.STRATEGIC)
    assert answer.json["metadata"]["labels"] == {"a": "b", "c": "d"}
    assert client.patch(f"{SLICES}/s", {}, "application/json").code == 415
    assert client.patch(f"{SLICES}/s", [], patching.MERGE).code == 400
    renamed = client.patch(f"{SLICES}/s", {"kind": "Node"})
    assert renamed.causes == {("patch", "Invalid")}
    stale = client.patch(f"{SLICES}/s", {"metadata": {"resourceVersion": "1"}})
    assert stale.json["reason"] == "Conflict"


def test_apply_creates_and_merges_status_by_device(client: Client) -> None:
    path = f"{CLAIMS}/c"
    made = client.patch(path, claim(), patching.APPLY, fieldManager="me")
    assert made.code == 201
    assert client.patch(path, claim(), patching.APPLY).code == 422
    client.put(f"{path}/status", claim(status={"allocation": allocation()}))
    device = {"driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}
    for data in ({"a": 1}, {"b": 2}):
        applied = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "status": {"devices": [{**device, "data": data}]},
        }
        answer = client.patch(f"{path}/status", applied, patching.APPLY, fieldManager="me")
        assert answer.code == 200
        assert [entry["data"] for entry in answer.json["status"]["devices"]] == [data]
        assert "allocation" in answer.json["status"]
