"""What the server says about itself and about who asks, as clients want it."""

from __future__ import annotations

import pytest

from tests.embedded.client import Client

V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
ABOUT = {"verb": "get", "resource": "secrets", "namespace": "default"}


def test_the_old_schema_is_there_without_types(client: Client) -> None:
    """Without it kubectl can check neither a List nor a kind that it has not found."""
    assert client.get("/openapi/v2").json["swagger"] == "2.0"
    answer = client.send("GET", "/openapi/v2", headers={"Accept": V2})
    assert answer.text.startswith("\n\x032.0")
    assert "@" not in answer.headers["content-type"]


def test_health_is_told_in_full_where_that_is_asked(client: Client) -> None:
    assert client.get("/readyz").text == "ok"
    assert "readyz check passed" in client.get("/readyz", verbose="").text


@pytest.mark.parametrize("path", [AUTHENTICATION, AUTHORIZATION])
def test_discovery_lists_the_questions(client: Client, path: str) -> None:
    listed = client.get(path).json["resources"]
    assert all(each["verbs"] == ["create"] for each in listed)
    names = {each["name"] for each in listed}
    assert names & {"selfsubjectreviews", "selfsubjectrulesreviews"}


def test_a_token_is_reviewed(client: Client) -> None:
    path = f"{AUTHENTICATION}/tokenreviews"
    known = client.post(path, {"spec": {"token": "admin-token"}}).json["status"]
    assert known["authenticated"] is True
    assert known["user"]["username"] == "admin"
    assert "system:authenticated" in known["user"]["groups"]
    assert "authenticated" not in client.post(path, {"spec": {"token": "other"}}).json["status"]
    assert client.post(path, {"spec": {}}).causes == {("spec.token", "Required")}


def test_access_of_another_is_reviewed(client: Client) -> None:
    spec = {"user": "x", "groups": ["y"], "extra": {"a": ["b"]}, "resourceAttributes": ABOUT}
    for path in ("subjectaccessreviews", "namespaces/default/localsubjectaccessreviews"):
        assert client.post(f"{AUTHORIZATION}/{path}", {"spec": spec}).json["status"]["allowed"]
    elsewhere = f"{AUTHORIZATION}/namespaces/kube-system/localsubjectaccessreviews"
    assert client.post(elsewhere, {"spec": spec}).code == 422
    nobody = {"spec": {"resourceAttributes": ABOUT}}
    causes = client.post(f"{AUTHORIZATION}/subjectaccessreviews", nobody).causes
    assert causes == {("spec.user", "Invalid")}


def test_all_rights_are_listed(client: Client) -> None:
    path = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    status = client.post(path, {"spec": {"namespace": "default"}}).json["status"]
    assert status["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert client.post(path, {"spec": {}}).code == 400


def test_the_last_applied_configuration_follows_a_server_side_apply(client: Client) -> None:
    name = "kubectl.kubernetes.io/last-applied-configuration"
    path = "/api/v1/namespaces/default/configmaps"
    client.post(path, {"metadata": {"name": "c", "annotations": {name: "old"}}})
    applied = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {"a": "b"},
    }
    for manager, kept in (("other", "old"), ("kubectl", "")):
        answer = client.send(
            "PATCH",
            f"{path}/c?fieldManager={manager}&force=true",
            applied,
            {"Content-Type": "application/apply-patch+yaml"},
        )
        found = answer.json["metadata"]["annotations"][name]
        assert found == kept or (not kept and '"data":{"a":"b"}' in found)
