"""Which rules a driver lacks, told from what it was refused."""

from __future__ import annotations

from pytest_dra.checks.rights import missing
from pytest_dra.checks.rights import told
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest

DRIVER = "gpu.example.com"


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
