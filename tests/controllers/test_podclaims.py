"""The claims of a pod, by name and owner."""

from __future__ import annotations

import pytest

from pytest_dra.controllers import podclaims
from pytest_dra.spec import Json


def pod(**status: object) -> Json:
    entries = [
        {"name": "own", "resourceClaimName": "given"},
        {"name": "made", "resourceClaimTemplateName": "template"},
        {"name": "other", "resourceClaimTemplateName": "template"},
    ]
    return {
        "metadata": {"name": "main", "uid": "u-1"},
        "spec": {"resourceClaims": entries},
        "status": status,
    }


def test_names_of_claims_stand_in_the_spec_or_in_the_status() -> None:
    found = pod(
        resourceClaimStatuses=[{"name": "made", "resourceClaimName": "main-made-x"}],
        extendedResourceClaimStatus={"resourceClaimName": "extended"},
    )
    names = [("given", False), ("main-made-x", True), ("extended", True)]
    assert list(podclaims.names_of(found)) == names
    assert not podclaims.are_made(found)
    found["status"]["resourceClaimStatuses"].append({"name": "other"})
    assert podclaims.are_made(found), "the status says that no claim is needed"
    assert list(podclaims.names_of(found)) == names


@pytest.mark.parametrize(
    ("entry", "pod_name", "base"),
    [
        ("gpu", "web-0", "web-0-gpu-"),
        ("e" * 20, "p" * 35, "p" * 35 + "-" + "e" * 20 + "-"),
        ("e" * 20, "p" * 60, "p" * 41 + "-" + "e" * 13),
        ("e" * 63, "p" * 253, "p" * 45 + "-" + "e" * 11),
    ],
)
def test_long_names_are_cut_by_the_same_part_of_their_length(
    entry: str, pod_name: str, base: str
) -> None:
    assert podclaims.name_base(pod_name, entry) == base
    assert len(base) <= podclaims.NAME_BASE_MAX


def test_a_pod_is_done_when_it_has_ended_or_will_never_run() -> None:
    assert not podclaims.is_done(pod(phase="Running"))
    assert podclaims.is_done(pod(phase="Failed"))
    deleted = pod(phase="Pending")
    deleted["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    assert podclaims.is_done(deleted)
    deleted["spec"]["nodeName"] = "node-a"
    assert not podclaims.is_done(deleted), "its containers may still run"


def test_only_the_controlling_pod_owns_a_claim() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "main", "uid": "u-1", "controller": True}
    claim: Json = {"metadata": {"ownerReferences": [owner]}}
    assert podclaims.is_of(claim, pod())
    assert podclaims.owner_of(claim) == ("main", "u-1")
    for name, value in (("controller", False), ("kind", "Job"), ("uid", "u-2")):
        other = {"metadata": {"ownerReferences": [{**owner, name: value}]}}
        assert not podclaims.is_of(other, pod())
