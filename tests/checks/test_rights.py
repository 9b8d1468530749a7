"""Which rules a driver lacks, told from what it was refused."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dra.checks.rights import TELLING
from pytest_dra.checks.rights import Grant
from pytest_dra.checks.rights import all_must_be_covered
from pytest_dra.checks.rights import grants_of
from pytest_dra.checks.rights import missing
from pytest_dra.checks.rights import told
from pytest_dra.checks.rights import unused
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from tests.checks.raising import Said
from tests.checks.raising import said

DRIVER = "gpu.example.com"
GROUP = "resource.k8s.io"


def request(verb: str, resource: str, code: int, answer: Json | None = None) -> ApiRequest:
    plural, _, subresource = resource.partition("/")
    return ApiRequest(
        identity="driver",
        verb=verb,
        group="resource.k8s.io",
        version="v1",
        resource=plural,
        namespace="",
        name="x",
        subresource=subresource,
        query="",
        user_agent="",
        body=None,
        code=code,
        answer=answer,
        duration_s=0.0,
    )


def test_what_was_allowed_lacks_nothing() -> None:
    answered = [request("get", "resourceclaims", code) for code in (200, 404, 409, 422)]
    assert missing(answered, driver=DRIVER) == []
    assert told([]) == ""


def test_verbs_on_one_resource_are_one_rule() -> None:
    refused = [
        request("update", "resourceslices", 403),
        request("create", "resourceslices", 403),
        request("update", "resourceslices", 403),
        request("patch", "resourceclaims/status", 403),
    ]
    assert missing(refused, driver=DRIVER) == [
        '{apiGroups: ["resource.k8s.io"], resources: [resourceclaims/status], verbs: [patch]}',
        '{apiGroups: ["resource.k8s.io"], resources: [resourceslices], verbs: [create, update]}',
    ]


def test_a_status_that_is_refused_in_part_lacks_the_right_to_that_part() -> None:
    causes = [{"reason": "FieldValueForbidden", "field": "status.devices", "message": "no"}]
    answer: Json = {"details": {"causes": causes}}
    (rule,) = missing([request("patch", "resourceclaims/status", 422, answer)], driver=DRIVER)
    assert "resourceclaims/driver" in rule
    assert f"resourceNames: [{DRIVER}], verbs: [associated-node:patch]" in rule


def test_a_finding_shows_a_few_rules_only() -> None:
    rules = [f"rule {number}" for number in range(6)]
    assert "rule 3 and 2 more" in told(rules)


def test_an_apply_that_would_create_lacks_the_right_to_that() -> None:
    answer: Json = {
        "message": 'x is forbidden: User "u" cannot create resource "resourceslices" in'
    }
    (text,) = missing([request("patch", "resourceslices", 403, answer)], driver=DRIVER)
    assert "verbs: [create]" in text


def rule(resource: str, *verbs: str, **more: list[str]) -> Json:
    return {"apiGroups": [GROUP], "resources": [resource], "verbs": list(verbs), **more}


def _entries(*requests: ApiRequest) -> Sequence[Entry[ApiRequest]]:
    return [Entry(serial, 0.0, False, each) for serial, each in enumerate(requests)]


def test_a_grant_covers_what_its_rule_says_where_it_holds() -> None:
    slices, status = request("get", "resourceslices", 200), request("patch", "a/status", 200)
    assert Grant(rule("resourceslices", "get", "list")).covers(slices)
    assert Grant(rule("*", "*")).covers(slices)
    assert not Grant(rule("resourceslices", "list")).covers(slices)
    assert not Grant(rule("resourceslices", "get"), "elsewhere").covers(slices)
    assert Grant(rule("resourceslices", "get", resourceNames=["x"])).covers(slices)
    assert not Grant(rule("resourceslices", "get", resourceNames=["y"])).covers(slices)
    assert Grant(rule("a/status", "patch")).covers(status)
    assert Grant(rule("*/status", "patch")).covers(status)
    assert not Grant(rule("a", "patch")).covers(status)


def _binding(kind: str, role: str, name: str, **subject: str) -> Json:
    return {
        "kind": kind,
        "metadata": {"name": name, **({"namespace": "home"} if kind == "RoleBinding" else {})},
        "roleRef": {"kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "driver", **subject}],
    }


def test_grants_are_those_of_the_accounts_bindings() -> None:
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [rule("a", "get")]}
    objects = [
        role,
        _binding("ClusterRoleBinding", "r", "one", namespace="home"),
        _binding("ClusterRoleBinding", "r", "other", namespace="elsewhere"),
        _binding("RoleBinding", "view", "two"),
    ]
    known = {"view": [rule("b", "list")]}
    assert grants_of(objects, [("home", "driver")], known) == [
        Grant(rule("a", "get")),
        Grant(rule("b", "list"), "home"),
    ]
    assert grants_of(objects, [("home", "somebody")], known) == []


def test_what_was_asked_and_is_not_granted_is_told_as_a_rule() -> None:
    asked = _entries(
        request("get", "", 200),
        request("create", "resourceslices", 201),
        request("update", "resourceslices", 200),
    )
    enough = [Grant(rule("resourceslices", "create", "update"))]
    assert said(lambda: all_must_be_covered(asked, enough)) is None
    assert said(lambda: all_must_be_covered(asked, [Grant(rule("resourceslices", "create"))])) == (
        Said(
            "requests to the API server beside the roles of the manifests",
            'asked, and not granted: {apiGroups: ["resource.k8s.io"], resources: '
            "[resourceslices], verbs: [update]}",
            "a role that grants what the driver asks: a real cluster answers 403",
            (2,),
        )
    )


def test_a_path_that_no_server_has_needs_no_right() -> None:
    answer = {"message": "the server could not find the requested resource"}
    made_of_a_name = request("get", "resourceclaims/..", 404, answer)
    assert said(lambda: all_must_be_covered(_entries(made_of_a_name), [])) is None
    gone = request("get", "resourceclaims", 404, {"message": 'resourceclaims "x" not found'})
    assert said(lambda: all_must_be_covered(_entries(gone), [])) is not None


def test_what_is_granted_and_not_used_is_told_of_a_long_run_only() -> None:
    granted = [Grant(rule("resourceslices", "create", "delete", "get"))]
    asked = [request("create", "resourceslices", 201)]
    assert unused(asked, granted) == ""
    assert unused(asked * TELLING, granted) == (
        "granted and never used in this run: delete, get of resourceslices"
    )
    assert unused(asked * TELLING, [Grant(rule("*", "*"))]) == ""


def test_an_apply_or_update_that_has_created_uses_the_right_to_create() -> None:
    patch = Grant(rule("resourceslices", "patch"))
    both = Grant(rule("resourceslices", "patch", "create"))
    made, changed = request("patch", "resourceslices", 201), request("patch", "resourceslices", 200)
    assert said(lambda: all_must_be_covered(_entries(made), [both])) is None
    assert said(lambda: all_must_be_covered(_entries(changed), [patch])) is None
    finding = said(lambda: all_must_be_covered(_entries(made), [patch]))
    assert finding is not None
    assert "verbs: [create]" in str(finding)
    assert unused([made] * TELLING, [both]) == ""
    assert "create of resourceslices" in unused([changed] * TELLING, [both])
