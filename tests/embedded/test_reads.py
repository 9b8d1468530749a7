"""GET and LIST: selectors, pages, versions, forms, errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import slice_


@pytest.fixture
def three(client: Client) -> list[int]:
    """Slices a (node-a), b (node-b), c (all nodes); their versions."""
    spec: tuple[dict[str, Any], ...] = (
        {},
        {"nodeName": "node-b"},
        {"nodeName": None, "allNodes": True},
    )
    made = [client.post(SLICES, slice_(n, **s)) for n, s in zip("abc", spec, strict=True)]
    return [int(answer.json["metadata"]["resourceVersion"]) for answer in made]


def _names(client: Client, **query: str) -> list[str]:
    return [item["metadata"]["name"] for item in client.get(SLICES, **query).json["items"]]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.nodeName=node-a", ["a"]),
        ("spec.nodeName==node-b,spec.driver=gpu.example.com", ["b"]),
        ("spec.nodeName=,spec.driver=gpu.example.com", ["c"]),
        ("spec.nodeName!=node-a", ["b", "c"]),
        ("metadata.name=b", ["b"]),
        ("spec.pool.name=node-a", ["a", "b", "c"]),
        ("spec.nodeName=node-a,spec.nodeName=node-b", []),
    ],
)
@pytest.mark.usefixtures("three")
def test_field_selectors(client: Client, selector: str, names: list[str]) -> None:
    assert _names(client, fieldSelector=selector) == names


@pytest.mark.parametrize("selector", ["spec.allNodes=true", "metadata.namespace=x", "spec.driver"])
def test_unknown_fields_and_bad_selectors_are_400(client: Client, selector: str) -> None:
    assert client.get(SLICES, fieldSelector=selector).code == 400


def test_label_selectors(client: Client) -> None:
    for name, labels in {"a": {"t": "red"}, "b": {"t": "blue"}, "c": {}}.items():
        body = slice_(name)
        body["metadata"]["labels"] = labels
        client.post(SLICES, body)
    assert _names(client, labelSelector="t in (red,green)") == ["a"]
    assert _names(client, labelSelector="t notin (red)") == ["b", "c"]
    assert _names(client, labelSelector="t") == ["a", "b"]
    assert _names(client, labelSelector="!t") == ["c"]
    assert _names(client, labelSelector="t!=blue,t=red") == ["a"]
    assert client.get(SLICES, labelSelector="t in").code == 400


def test_a_continued_list_shows_the_old_state(client: Client, three: list[int]) -> None:
    first = client.get(SLICES, limit="2").json
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    client.post(SLICES, slice_("d"))
    token = first["metadata"]["continue"]
    second = client.get(SLICES, limit="2", **{"continue": token}).json
    assert [item["metadata"]["name"] for item in second["items"]] == ["c"]
    assert second["metadata"] == {"resourceVersion": str(three[-1])}
    assert client.get(SLICES, **{"continue": "garbage"}).code == 400


@pytest.mark.usefixtures("three")
def test_limit_is_ignored_for_version_0(client: Client) -> None:
    answer = client.get(SLICES, limit="1", resourceVersion="0").json
    assert len(answer["items"]) == 3
    assert "continue" not in answer["metadata"]


def test_exact_versions_read_history(client: Client, three: list[int]) -> None:
    query = {"resourceVersion": str(three[0]), "resourceVersionMatch": "Exact"}
    assert _names(client, **query) == ["a"]
    assert client.get(SLICES, resourceVersion="abc").code == 400
    assert client.get(f"{SLICES}/a", resourceVersion="abc").code == 500


def test_items_have_no_kind_and_an_empty_list_is_a_list(client: Client) -> None:
    assert client.get(CLAIMS).json["items"] == []
    client.post(SLICES, slice_())
    assert "kind" not in client.get(SLICES).json["items"][0]


def test_listing_a_missing_namespace_is_empty_but_getting_is_404(client: Client) -> None:
    base = "/apis/resource.k8s.io/v1/namespaces/none/resourceclaims"
    assert client.get(base).code == 200
    assert client.get(f"{base}/c").json["details"]["kind"] == "resourceclaims"


def test_unknown_groups_are_plain_text_and_versions_a_status(client: Client) -> None:
    unknown = client.get("/apis/none.example.com/v1/widgets")
    assert (unknown.code, unknown.text.strip()) == (404, "404 page not found")
    assert unknown.headers["content-type"].startswith("text/plain")
    beta = client.get("/apis/resource.k8s.io/v1beta1/resourceslices")
    assert (beta.code, beta.json["reason"], beta.json["details"]) == (404, "NotFound", {})
    assert client.get(f"{SLICES}/x/status").code == 404


@pytest.mark.parametrize(
    ("accept", "code"),
    [
        ("application/vnd.kubernetes.protobuf,application/json", 200),
        ("application/json", 200),
        ("*/*", 200),
        ("application/cbor", 406),
        ("application/json;as=Table;v=v9;g=meta.k8s.io", 406),
    ],
)
def test_json_is_answered_wherever_it_is_accepted(client: Client, accept: str, code: int) -> None:
    answer = client.send("GET", SLICES, headers={"Accept": accept})
    assert (answer.code, answer.headers["content-type"]) == (code, "application/json")


@pytest.mark.usefixtures("three")
def test_tables_and_metadata_and_yaml(client: Client) -> None:
    table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    shown = client.send("GET", SLICES, headers=table).json
    assert [column["name"] for column in shown["columnDefinitions"]][:2] == ["Name", "Node"]
    assert shown["rows"][2]["cells"][:4] == ["c", "", "gpu.example.com", "node-a"]
    part = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    shown = client.send("GET", f"{SLICES}/a", headers=part).json
    assert set(shown) == {"kind", "apiVersion", "metadata"}
    text = client.send("GET", f"{SLICES}/a", headers={"Accept": "application/yaml"}).text
    assert "driver: gpu.example.com" in text


def test_discovery_in_both_forms(client: Client) -> None:
    listed = client.get("/apis/resource.k8s.io/v1").json["resources"]
    names = [entry["name"] for entry in listed]
    assert "resourceclaims/status" in names
    assert "resourceslices" in names
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = client.send("GET", "/apis", headers={"Accept": f"{accept},application/json"})
    assert answer.headers["content-type"] == accept
    assert answer.json["kind"] == "APIGroupDiscoveryList"
    assert client.get("/apis").json["kind"] == "APIGroupList"
    assert client.get("/api").json["versions"] == ["v1"]


@pytest.mark.parametrize(
    ("path", "body", "cells"),
    [
        ("/api/v1/nodes", {}, ["x", "Unknown", "<none>"]),
        (
            "/api/v1/namespaces/default/pods",
            {"spec": {"containers": [{"name": "c", "image": "i"}]}},
            ["x", "0/1", "Pending", "0"],
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            {"spec": {"holderIdentity": "me"}},
            ["x", "me"],
        ),
        (
            "/apis/resource.k8s.io/v1/devicetaintrules",
            {"spec": {"taint": {"key": "k", "effect": "NoExecute"}}},
            ["x", "k", "", "NoExecute"],
        ),
        (CLAIMS, {}, ["x", "pending"]),
        ("/api/v1/namespaces/default/configmaps", {}, ["x"]),
    ],
)
def test_the_cells_of_each_kind(
    client: Client, path: str, body: dict[str, Any], cells: list[str]
) -> None:
    assert client.post(path, {"metadata": {"name": "x"}, **body}).code == 201
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    (row,) = client.send("GET", path, headers=accept).json["rows"]
    assert row["cells"][: len(cells)] == cells
