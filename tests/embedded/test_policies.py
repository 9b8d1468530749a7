"""ValidatingAdmissionPolicies, above all the one that keeps a driver to the slices of its node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.embedded.served import serving
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline
from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Answer
from tests.embedded.client import Client
from tests.embedded.client import claim
from tests.embedded.client import slice_

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"
NODE_NAME = "authentication.kubernetes.io/node-name"
ACCOUNT = "system:serviceaccount:dra:driver"
SLICE_RULE = {
    "apiGroups": ["resource.k8s.io"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["resourceslices"],
}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A server that knows a driver bound to node-a, and the same one without a node."""
    tokens = {
        "admin-token": User("admin", ("system:masters",)),
        "driver-token": User(ACCOUNT, extra={NODE_NAME: ("node-a",)}),
        "plain-token": User(ACCOUNT, extra={"authentication.kubernetes.io/credential-id": ("1",)}),
    }
    server = ApiServer(timeline=Timeline(), tokens=tokens)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def driver(server: ApiServer) -> Client:
    """The driver of node-a."""
    return Client(server.url, "driver-token")


def _policy(*, rule: Json = SLICE_RULE, match: Json | None = None, **spec: Any) -> Json:
    return {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule], **(match or {})}, **spec},
    }


def _bind(client: Client, *actions: str) -> Answer:
    spec = {"policyName": "p", "validationActions": list(actions) or ["Deny"]}
    return client.post(BINDINGS, {"metadata": {"name": "b"}, "spec": spec})


def _enforce(client: Client, *actions: str, **policy: Any) -> None:
    made = client.post(POLICIES, _policy(**policy))
    assert made.code == 201, made.text
    assert _bind(client, *actions).code == 201


def _own_slices(client: Client) -> None:
    """The policy that the example driver of Kubernetes comes with, in our words."""
    _enforce(
        client,
        failurePolicy="Fail",
        matchConditions=[
            {"name": "driver", "expression": f"request.userInfo.username == '{ACCOUNT}'"}
        ],
        variables=[
            {
                "name": "userNode",
                "expression": f"request.userInfo.extra[?'{NODE_NAME}'][0].orValue('')",
            },
            {
                "name": "objectNode",
                "expression": "(request.operation == 'DELETE' ? oldObject : object)"
                ".spec.?nodeName.orValue('')",
            },
        ],
        validations=[
            {"expression": "variables.userNode != ''", "message": "no node in the token"},
            {
                "expression": "variables.userNode == variables.objectNode",
                "messageExpression": "'not a slice of ' + variables.userNode",
            },
        ],
    )


def test_a_driver_writes_slices_of_its_own_node_only(client: Client, driver: Client) -> None:
    _own_slices(client)
    made = driver.post(SLICES, slice_("own"))
    assert made.code == 201
    refused = driver.post(SLICES, slice_("other", nodeName="node-b"))
    message = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not a slice of node-a"
    assert refused.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'resourceslices.resource.k8s.io "other" is forbidden: {message}',
        "reason": "Invalid",
        "details": {
            "name": "other",
            "group": "resource.k8s.io",
            "kind": "resourceslices",
            "causes": [{"message": message}],
        },
        "code": 422,
    }
    pool = {"name": "node-a", "generation": 2, "resourceSliceCount": 1}
    assert driver.put(f"{SLICES}/own", slice_("own", pool=pool)).code == 200
    assert driver.delete(f"{SLICES}/own").code == 200


def test_a_driver_leaves_slices_of_others_alone(client: Client, driver: Client) -> None:
    _own_slices(client)
    client.post(SLICES, slice_("other", nodeName="node-b"))
    assert driver.patch(f"{SLICES}/other", {"metadata": {"labels": {"a": "b"}}}).code == 422
    assert driver.delete(f"{SLICES}/other").code == 422
    assert driver.delete(SLICES).code == 422
    assert client.get(f"{SLICES}/other").code == 200


def test_a_token_without_node_writes_no_slices(server: ApiServer, client: Client) -> None:
    _own_slices(client)
    refused = Client(server.url, "plain-token").post(SLICES, slice_())
    assert refused.code == 422
    assert refused.json["details"]["causes"][0]["message"].endswith("no node in the token")


def test_others_and_other_kinds_are_not_concerned(client: Client, driver: Client) -> None:
    _own_slices(client)
    assert client.post(SLICES, slice_(nodeName="node-b")).code == 201
    assert driver.post(CLAIMS, claim()).code == 201


def test_a_policy_without_binding_and_one_that_is_gone_say_nothing(
    client: Client, driver: Client
) -> None:
    validations = [{"expression": "false"}]
    client.post(POLICIES, _policy(validations=validations))
    assert driver.post(SLICES, slice_("a")).code == 201
    _bind(client)
    assert driver.post(SLICES, slice_("b")).code == 422
    assert client.delete(f"{POLICIES}/p").json["status"] == "Success"
    assert driver.post(SLICES, slice_("b")).code == 201


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ({"expression": " 1 == 2 "}, "failed expression: 1 == 2"),
        ({"expression": "false", "message": " as said "}, "as said"),
        (
            {"expression": "false", "message": "instead", "messageExpression": "'two\\nlines'"},
            "instead",
        ),
        (
            {"expression": "object.spec.nothing == 1"},
            "expression 'object.spec.nothing == 1' resulted in error: no such key: nothing",
        ),
    ],
)
def test_what_a_refusal_says(client: Client, validation: Json, message: str) -> None:
    _enforce(client, validations=[validation])
    causes = client.post(SLICES, slice_()).json["details"]["causes"]
    assert causes == [
        {"message": f"ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {message}"}
    ]


def test_errors_are_ignored_where_the_policy_wants_it(client: Client) -> None:
    validations = [{"expression": "object.spec.nothing == 1"}]
    _enforce(client, failurePolicy="Ignore", validations=validations)
    assert client.post(SLICES, slice_()).code == 201


def test_a_condition_that_fails_refuses(client: Client) -> None:
    conditions = [{"name": "c", "expression": "object.spec.nothing == 1"}]
    _enforce(client, matchConditions=conditions, validations=[{"expression": "true"}])
    assert client.post(SLICES, slice_()).code == 422


@pytest.mark.parametrize(
    ("reason", "code"), [("Forbidden", 403), ("Unauthorized", 401), ("RequestEntityTooLarge", 413)]
)
def test_the_reason_decides_the_code(client: Client, reason: str, code: int) -> None:
    _enforce(client, validations=[{"expression": "false", "reason": reason}])
    refused = client.post(SLICES, slice_())
    assert (refused.code, refused.json["reason"]) == (code, reason)


def test_a_warning_lets_the_request_pass(client: Client) -> None:
    _enforce(client, "Warn", validations=[{"expression": "false", "message": "hm"}])
    made = client.post(SLICES, slice_())
    assert made.code == 201
    assert "ValidatingAdmissionPolicy 'p' with binding 'b': hm" in made.headers["warning"]


def test_labels_of_objects_and_namespaces_select(client: Client) -> None:
    selector = {"matchExpressions": [{"key": "strict", "operator": "Exists"}]}
    rule = {**SLICE_RULE, "resources": ["resourceclaims"]}
    _enforce(
        client,
        rule=rule,
        match={"namespaceSelector": selector, "objectSelector": {"matchLabels": {"a": "b"}}},
        validations=[{"expression": "namespaceObject.metadata.name != 'default'"}],
    )
    meant = claim("c2", metadata={"name": "c2", "labels": {"a": "b"}})
    assert client.post(CLAIMS, meant).code == 201
    client.patch("/api/v1/namespaces/default", {"metadata": {"labels": {"strict": ""}}})
    assert client.delete(f"{CLAIMS}/c2").code == 422
    assert client.post(CLAIMS, claim("c3")).code == 201


def test_status_writes_are_matched_by_name_only(client: Client) -> None:
    client.post(CLAIMS, claim())
    rule = {**SLICE_RULE, "resources": ["resourceclaims/status"]}
    _enforce(client, rule=rule, validations=[{"expression": "request.subResource != 'status'"}])
    assert client.patch(f"{CLAIMS}/c", {"metadata": {"labels": {"a": "b"}}}).code == 200
    assert client.patch(f"{CLAIMS}/c/status", {"status": {"reservedFor": []}}).code == 422


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({}, ("spec.validations", "Required")),
        ({"validations": [{"expression": "1 +"}]}, ("spec.validations[0].expression", "Invalid")),
        ({"validations": [{"expression": "'a'"}]}, ("spec.validations[0].expression", "Invalid")),
        (
            {"validations": [{"expression": "variables.x"}]},
            ("spec.validations[0].expression", "Invalid"),
        ),
        ({"matchConstraints": None}, ("spec.matchConstraints", "Required")),
        ({"failurePolicy": "Maybe"}, ("spec.failurePolicy", "NotSupported")),
        ({"paramKind": {"apiVersion": "v1", "kind": "X"}}, ("spec.paramKind", "Forbidden")),
    ],
)
def test_a_bad_policy_is_refused(client: Client, spec: Json, cause: tuple[str, str]) -> None:
    answer = client.post(POLICIES, _policy(**spec))
    assert answer.code == 422
    assert cause in answer.causes


def test_a_bad_binding_is_refused(client: Client) -> None:
    assert _bind(client, "Deny", "Warn").causes == {("spec.validationActions", "Invalid")}
    empty = client.post(BINDINGS, {"metadata": {"name": "b"}, "spec": {}})
    assert empty.causes == {("spec.policyName", "Required"), ("spec.validationActions", "Required")}


def test_a_policy_for_another_version_sees_the_object_in_that_version() -> None:
    tokens = {"admin-token": User("admin", ("system:masters",))}
    server = ApiServer(timeline=Timeline(), tokens=tokens)
    server.start()
    try:
        client = Client(server.url)
        rule = {**SLICE_RULE, "apiVersions": ["v1beta1"]}
        checks = [{"expression": "object.apiVersion != 'resource.k8s.io/v1beta1'"}]
        _enforce(client, rule=rule, validations=checks)
        # not served, so not equivalent
        assert client.post(SLICES, slice_("a")).code == 201
        server.become(serving(server.version, ("v1", "v1beta1")))
        assert client.post(SLICES, slice_("b")).code == 422
    finally:
        server.stop()
