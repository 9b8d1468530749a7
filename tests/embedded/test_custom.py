"""CustomResourceDefinitions, and objects of the kinds that they define."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.embedded import ApiServer
from pytest_dra.embedded.kubeconfig import write_kubeconfig
from pytest_dra.spec import Json
from tests.embedded.client import ADMIN
from tests.embedded.client import PROTOBUF
from tests.embedded.client import Client

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def _definition(*, status: bool = True, **spec: Any) -> Json:
    version: Json = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {
                        "type": "object",
                        "properties": {"size": {"type": "integer", "description": "How large."}},
                    }
                },
            }
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {
                "name": "Ready",
                "type": "string",
                "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
            },
        ],
    }
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "scope": "Namespaced",
            "versions": [version],
            **spec,
        },
    }


def _widget(name: str = "w", **more: Any) -> Json:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": 3, "parts": [{"name": "a"}]},
        **more,
    }


@pytest.fixture
def widgets(client: Client) -> Client:
    """An administrator of a server that has widgets with a status."""
    assert client.post(DEFINITIONS, _definition()).code == 201
    return client


def test_a_definition_is_established_at_once(client: Client) -> None:
    made = client.post(DEFINITIONS, _definition()).json
    assert {one["type"]: one["status"] for one in made["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert made["status"]["storedVersions"] == ["v1"]
    assert made["status"]["acceptedNames"]["listKind"] == "WidgetList"


def test_a_kind_is_discovered_once_it_is_defined(client: Client) -> None:
    assert client.get(WIDGETS).code == 404
    client.post(DEFINITIONS, _definition())
    listed = client.get("/apis/example.com/v1").json["resources"]
    assert [(one["name"], one["kind"]) for one in listed] == [
        ("widgets", "Widget"),
        ("widgets/status", "Widget"),
    ]
    assert listed[0]["shortNames"] == ["wd"]
    assert "example.com" in [one["name"] for one in client.get("/apis").json["groups"]]
    assert client.get(WIDGETS).json == {
        **client.get(WIDGETS).json,
        "kind": "WidgetList",
        "items": [],
    }


def test_a_definition_that_is_deleted_takes_its_objects_along(widgets: Client) -> None:
    widgets.post(WIDGETS, _widget())
    with widgets.watch(WIDGETS) as events:
        assert next(events)["type"] == "ADDED"
        assert widgets.delete(f"{DEFINITIONS}/widgets.example.com").code == 200
        assert next(events)["type"] == "DELETED"
    assert widgets.get(WIDGETS).code == 404
    assert widgets.get("/apis/example.com").code == 404
    widgets.post(DEFINITIONS, _definition())
    assert widgets.get(WIDGETS).json["items"] == []


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"group": "other.example.com"}, ("metadata.name", "Invalid")),
        ({"scope": "Somewhere"}, ("spec.scope", "NotSupported")),
        ({"versions": []}, ("spec.versions", "Invalid")),
        (
            {"versions": [{"name": "v1", "served": True, "storage": True}]},
            ("spec.versions[0].schema.openAPIV3Schema", "Required"),
        ),
        (
            {"group": "x.k8s.io"},
            ("metadata.annotations[api-approved.kubernetes.io]", "Required"),
        ),
    ],
)
def test_a_bad_definition_is_refused(client: Client, change: Json, cause: tuple[str, str]) -> None:
    answer = client.post(DEFINITIONS, _definition(**change))
    assert answer.code == 422
    assert cause in answer.causes


def test_objects_keep_every_field(widgets: Client) -> None:
    made = widgets.post(WIDGETS, _widget(data={"any": [1, 2.5, None, "x"]}, flag=False)).json
    assert (made["kind"], made["apiVersion"]) == ("Widget", "example.com/v1")
    assert made["data"] == {"any": [1, 2.5, None, "x"]}
    assert made["flag"] is False
    assert made["metadata"]["generation"] == 1
    assert widgets.get(f"{WIDGETS}/w").json == made


def test_the_status_is_written_through_its_subresource_only(widgets: Client) -> None:
    made = widgets.post(WIDGETS, _widget(status={"phase": "lies"})).json
    assert "status" not in made
    put = widgets.put(f"{WIDGETS}/w/status", {**made, "spec": {}, "status": {"phase": "done"}})
    assert put.json["status"] == {"phase": "done"}
    assert put.json["spec"] == made["spec"]
    assert put.json["metadata"]["generation"] == 1
    again = widgets.put(f"{WIDGETS}/w", {**put.json, "spec": {"size": 4}, "status": {}})
    assert again.json["status"] == {"phase": "done"}
    assert again.json["metadata"]["generation"] == 2


def test_without_the_subresource_the_status_is_like_any_field(client: Client) -> None:
    client.post(DEFINITIONS, _definition(status=False))
    made = client.post(WIDGETS, _widget(status={"phase": "x"})).json
    assert made["status"] == {"phase": "x"}
    assert client.get(f"{WIDGETS}/w/status").code == 404
    patched = client.patch(f"{WIDGETS}/w", {"status": {"phase": "y"}}).json
    assert patched["metadata"]["generation"] == 2


def test_an_update_needs_the_version_and_refuses_an_old_one(widgets: Client) -> None:
    made = widgets.post(WIDGETS, _widget()).json
    assert widgets.put(f"{WIDGETS}/w", _widget()).code == 422
    assert widgets.put(f"{WIDGETS}/w", {**made, "spec": {"size": 4}}).code == 200
    assert widgets.put(f"{WIDGETS}/w", {**made, "spec": {"size": 5}}).code == 409


def test_what_changes_nothing_is_no_write(widgets: Client) -> None:
    made = widgets.post(WIDGETS, _widget()).json
    same = {**made, "spec": {"parts": [{"name": "a"}], "size": 3}}
    version = made["metadata"]["resourceVersion"]
    assert widgets.put(f"{WIDGETS}/w", same).json["metadata"]["resourceVersion"] == version
    patched = widgets.patch(f"{WIDGETS}/w", {"spec": {"size": 3}}).json
    assert patched["metadata"]["resourceVersion"] == version


def test_merge_patches_go_and_strategic_ones_do_not(widgets: Client) -> None:
    widgets.post(WIDGETS, _widget())
    patched = widgets.patch(f"{WIDGETS}/w", {"spec": {"size": None, "colour": "red"}})
    assert patched.json["spec"] == {"colour": "red", "parts": [{"name": "a"}]}
    assert widgets.patch(f"{WIDGETS}/w", {"spec": {}}, STRATEGIC).code == 415
    body = b"k8s\0" + b"\0"
    assert widgets.send("POST", WIDGETS, body, {"Content-Type": PROTOBUF}).code == 415


def test_apply_owns_the_single_fields_of_a_spec(widgets: Client) -> None:
    def applied(manager: str, spec: Json, **query: str) -> Json:
        body = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w"},
            "spec": spec,
        }
        answer = widgets.patch(f"{WIDGETS}/w", body, APPLY, fieldManager=manager, **query)
        return {"code": answer.code, **answer.json}

    assert applied("one", {"size": 1, "deep": {"a": 1, "b": 2}})["code"] == 201
    assert applied("two", {"deep": {"c": 3}})["spec"]["deep"] == {"a": 1, "b": 2, "c": 3}
    conflict = applied("two", {"deep": {"a": 9, "c": 3}})
    assert conflict["code"] == 409
    assert conflict["details"]["causes"][0]["field"] == ".spec.deep.a"
    left = applied("one", {"size": 1, "deep": {"a": 1}})
    assert left["spec"] == {"size": 1, "deep": {"a": 1, "c": 3}}


def test_deletion_answers_a_status(widgets: Client) -> None:
    widgets.post(WIDGETS, _widget())
    gone = widgets.delete(f"{WIDGETS}/w").json
    assert (gone["kind"], gone["status"]) == ("Status", "Success")
    assert widgets.get(f"{WIDGETS}/w").code == 404


def test_tables_have_the_columns_of_the_definition(widgets: Client) -> None:
    made = widgets.post(WIDGETS, _widget()).json
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    widgets.put(f"{WIDGETS}/w/status", {**made, "status": status})
    table = widgets.send(
        "GET", WIDGETS, None, {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    ).json
    assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "Size", "Ready"]
    assert table["rows"][0]["cells"] == ["w", 3, "True"]


def test_a_second_version_shows_the_same_objects(widgets: Client) -> None:
    found = widgets.get(f"{DEFINITIONS}/widgets.example.com").json
    newer = {**found["spec"]["versions"][0], "name": "v2", "storage": False}
    found["spec"]["versions"].append(newer)
    assert widgets.put(f"{DEFINITIONS}/widgets.example.com", found).code == 200
    widgets.post(WIDGETS, _widget())
    shown = widgets.get(WIDGETS.replace("/v1/", "/v2/") + "/w").json
    assert shown["apiVersion"] == "example.com/v2"
    assert shown["spec"]["size"] == 3


def test_a_definition_that_keeps_a_name_of_the_server_changes_nothing(client: Client) -> None:
    spec: Json = {
        "group": "resource.k8s.io",
        "names": {"plural": "resourceslices", "kind": "ResourceSlice"},
    }
    body = _definition(**spec)
    body["metadata"] = {
        "name": "resourceslices.resource.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
    }
    assert client.post(DEFINITIONS, body).code == 201
    assert client.post("/apis/resource.k8s.io/v1/resourceslices", {"metadata": {}}).code == 422


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
def test_kubectl_knows_a_defined_kind(server: ApiServer, widgets: Client, tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    write_kubeconfig(config, server=server.url, token=ADMIN)
    made = tmp_path / "widget.yaml"
    made.write_text(
        "apiVersion: example.com/v1\nkind: Widget\n"
        "metadata: {name: k, namespace: default}\nspec: {size: 7}\n"
    )

    def kubectl(*words: str) -> str:
        argv = ["kubectl", "--kubeconfig", str(config), f"--cache-dir={tmp_path}", *words]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "created" in kubectl("apply", "-f", str(made))
    assert "k      7" in kubectl("get", "wd")
    assert "How large" in kubectl("explain", "widget.spec")
