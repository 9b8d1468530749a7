"""Which rights a driver's account has, and which it should have."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.checks import roles
from pytest_dra.checks.roles import Right
from pytest_dra.checks.workloads import Workload
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

GROUP = "resource.k8s.io"
DRIVER = "gpu.example.com"


def rule(resources: str, verbs: str, group: str = GROUP, **more: Any) -> Json:
    return {
        "apiGroups": [group],
        "resources": resources.split(),
        "verbs": verbs.split(),
        **more,
    }


def role(*rules: Json, name: str = "r", kind: str = "ClusterRole", **metadata: str) -> Json:
    return {"kind": kind, "metadata": {"name": name, **metadata}, "rules": list(rules)}


def binding(
    kind: str = "ClusterRole", *, place: str = "n", account: str = "driver", **metadata: str
) -> Json:
    subject = {"kind": "ServiceAccount", "name": account, **({"namespace": place} if place else {})}
    return {
        "kind": "RoleBinding" if metadata else "ClusterRoleBinding",
        "metadata": {"name": "b", **metadata},
        "roleRef": {"kind": kind, "name": "r"},
        "subjects": [subject],
    }


PODS = Workload(item={}, pod={}, name="DaemonSet d", namespace="n", account="driver")


def rights(*rules: Json) -> list[Right]:
    return roles.rights_of(PODS, [role(*rules), binding()])


def test_rights_are_those_of_the_roles_that_are_bound_to_the_account() -> None:
    some = role(rule("resourceslices", "get"))
    assert len(roles.rights_of(PODS, [some, binding()])) == 1
    assert roles.rights_of(PODS, [some]) == []
    assert roles.rights_of(PODS, [some, binding(account="other")]) == []
    assert roles.rights_of(PODS, [some, binding(place="m")]) == []
    assert len(roles.rights_of(PODS, [some, binding(place="")])) == 1
    assert len(roles.rights_of(PODS, [some, binding(), binding()])) == 1


def test_a_role_is_one_of_its_namespace() -> None:
    some = role(rule("resourceslices", "get"), kind="Role", namespace="n")
    assert len(roles.rights_of(PODS, [some, binding("Role", namespace="n")])) == 1
    assert roles.rights_of(PODS, [some, binding("Role", namespace="m")]) == []


def beyond(*rules: Json, exempt: tuple[str, ...] = ()) -> list[object]:
    return [flaw.got for flaw in roles.rights_must_be_few(rights(*rules), exempt=exempt)]


def test_what_a_plugin_needs_is_allowed() -> None:
    assert not beyond(
        rule("resourceslices", "get list watch create update patch delete deletecollection"),
        rule("resourceclaims", "get list watch"),
        rule("resourceclaims/status", "update patch"),
        rule("resourceclaims/driver", "associated-node:update", resourceNames=[DRIVER]),
        rule("nodes", "get", group=""),
        rule("events", "create patch", group="events.k8s.io"),
        rule("leases", "get create update", group="coordination.k8s.io"),
    )


@pytest.mark.parametrize(
    ("more", "got"),
    [
        (rule("*", "*", group="*"), "* of *.*"),
        (rule("resourceslices", "*"), "* of resourceslices.resource.k8s.io"),
        (rule("secrets", "get", group=""), "get of secrets"),
        (rule("resourceclaims", "get update"), "update of resourceclaims.resource.k8s.io"),
        (rule("pods/exec", "create", group=""), "create of pods/exec"),
        (rule("nodes", "get list", group=""), "list of nodes"),
    ],
)
def test_more_than_that_needs_a_reason(more: Json, got: str) -> None:
    assert beyond(more) == [got]


def test_reasons_name_the_resource_and_may_name_verbs() -> None:
    more = rule("nodes", "get list watch", group="")
    assert beyond(more, exempt=("list, watch nodes",)) == []
    assert beyond(more, exempt=("list nodes",)) == ["watch of nodes"]
    assert beyond(more, exempt=("nodes",)) == []


def uncovered(*rules: Json) -> list[object]:
    found = roles.status_writes_must_be_covered([rights(*rules)], driver=DRIVER)
    return [flaw.got for flaw in found]


STATUS = rule("resourceclaims/status", "update patch")


def test_who_writes_status_needs_the_part_of_the_driver() -> None:
    [got] = uncovered(STATUS)
    assert "nothing of resourceclaims/driver for gpu.example.com" in str(got)
    for verb in ("associated-node:patch", "arbitrary-node:update", "*"):
        assert not uncovered(STATUS, rule("resourceclaims/driver", verb))
    named = rule("resourceclaims/driver", "associated-node:update", resourceNames=[DRIVER])
    assert not uncovered(STATUS, named)
    assert uncovered(STATUS, {**named, "resourceNames": ["other"]})
    assert uncovered(STATUS, rule("resourceclaims/driver", "update"))


def test_the_verb_must_be_one_that_is_used() -> None:
    patch = rule("resourceclaims/status", "patch")
    assert uncovered(patch, rule("resourceclaims/driver", "associated-node:update"))


def test_nobody_who_writes_no_status_is_concerned() -> None:
    with pytest.raises(NotApplicable, match="no role grants writes"):
        uncovered(rule("resourceclaims", "get"))


def test_objects_of_any_shape_are_looked_at() -> None:
    odd = role({"verbs": "get"})
    odd["rules"].insert(0, 1)
    assert len(roles.rights_of(PODS, [odd, binding()])) == 1
    for broken in ({"subjects": 1}, {"subjects": [1]}, {"roleRef": "r"}, {"metadata": "m"}):
        roles.rights_of(PODS, [odd, {**binding(), **broken}])
    assert roles.rights_of(PODS, [{"kind": "Role", "metadata": 1, "rules": 1}, binding()]) == []
