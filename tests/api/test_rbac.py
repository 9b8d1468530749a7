"""What rules of RBAC allow, and whom bindings mean."""

from __future__ import annotations

import pytest

from pytest_dra.api import rbac
from pytest_dra.spec import Json

RULE: Json = {"apiGroups": ["g"], "resources": ["a", "b/status"], "verbs": ["get", "list"]}


def allows(
    rule: Json, verb: str = "get", group: str = "g", full: str = "a", name: str = ""
) -> bool:
    resource, _, subresource = full.partition("/")
    return rbac.allows(
        rule, verb=verb, group=group, resource=resource, subresource=subresource, name=name
    )


def test_verb_group_and_resource_must_be_among_those_of_the_rule() -> None:
    assert allows(RULE)
    assert not allows(RULE, verb="watch")
    assert not allows(RULE, group="")
    assert not allows(RULE, full="b")
    assert not allows(RULE, full="a/status")
    assert allows(RULE, full="b/status")
    assert not allows({})
    assert not allows({**RULE, "verbs": "get"})


@pytest.mark.parametrize(("resource", "status"), [("*", True), ("*/status", True), ("a", False)])
def test_stars_stand_for_everything(resource: str, *, status: bool) -> None:
    rule = {"apiGroups": ["*"], "resources": [resource], "verbs": ["*"]}
    assert allows(rule, full="a/status") is status
    assert allows(rule) is (resource != "*/status")


def test_a_rule_with_names_is_for_these_alone() -> None:
    named = {**RULE, "resourceNames": ["x"]}
    assert (allows(named, name="x"), allows(named, name="y"), allows(named)) == (True, False, False)


def test_paths_are_allowed_by_their_begin() -> None:
    rule = {"nonResourceURLs": ["/healthz", "/apis/*"], "verbs": ["get"]}
    found = [
        rbac.allows_path(rule, verb="get", path=path) for path in ("/healthz", "/apis/x", "/api")
    ]
    assert found == [True, True, False]
    assert not rbac.allows_path(rule, verb="post", path="/healthz")


@pytest.mark.parametrize(
    ("subject", "meant"),
    [
        ({"kind": "ServiceAccount", "name": "plugin", "namespace": "ns"}, True),
        ({"kind": "ServiceAccount", "name": "plugin", "namespace": "other"}, False),
        ({"kind": "ServiceAccount", "name": "plugin"}, True),
        ({"kind": "ServiceAccount", "name": "other", "namespace": "ns"}, False),
        ({"kind": "Group", "name": "system:serviceaccounts:ns"}, True),
        ({"kind": "Group", "name": "system:authenticated"}, True),
        ({"kind": "Group", "name": "system:serviceaccounts:other"}, False),
        ({"kind": "User", "name": "plugin"}, False),
        ("plugin", False),
    ],
)
def test_subjects_mean_accounts_by_name_or_group(subject: object, *, meant: bool) -> None:
    assert rbac.means(subject, "ns", [("ns", "plugin")]) is meant


def test_where_a_namespace_is_not_known_any_will_do() -> None:
    subject = {"kind": "ServiceAccount", "name": "plugin"}
    assert rbac.means(subject, "", [("ns", "plugin")])
    assert rbac.means({**subject, "namespace": "x"}, "ns", [("", "plugin")])
