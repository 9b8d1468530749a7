"""Claims and templates of a case, and until they are released."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.api import resources
from pytest_dra.kube import Client
from pytest_dra.live.asking import Ask
from pytest_dra.live.asking import claim_spec
from pytest_dra.live.claims import Claims
from pytest_dra.spec import Violation
from tests.live.conftest import BUDGETS

HELD = {"request": "device", "driver": "d.example.com", "pool": "p", "device": "gpu-0"}


@pytest.fixture
def claims(client: Client, namespace: str) -> Claims:
    return Claims(client, namespace, BUDGETS)


def allocate(client: Client, namespace: str, name: str) -> None:
    status: dict[str, Any] = {"allocation": {"devices": {"results": [HELD]}}}
    client.patch(
        resources.RESOURCE_CLAIMS,
        name,
        {"status": status},
        namespace=namespace,
        subresource="status",
    )


def test_what_is_allocated_is_told_until_it_is_released(
    client: Client, namespace: str, claims: Claims
) -> None:
    claims.create("c", claim_spec(Ask(device_class="gpu")))
    claims.must_be_deallocated("c")
    allocate(client, namespace, "c")
    assert claims.devices("c") == [("d.example.com", "p", "gpu-0")]
    with pytest.raises(Violation, match=r"deallocated within 0\.5 s"):
        claims.must_be_deallocated("c")
    with pytest.raises(Violation, match=r"deleted within 0\.5 s"):
        claims.must_go("c")


def test_claims_that_pods_own_have_to_go(client: Client, namespace: str, claims: Claims) -> None:
    claims.create("mine", claim_spec(Ask(device_class="gpu")))
    claims.must_leave_none()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}
    client.create(
        resources.RESOURCE_CLAIMS,
        {
            "metadata": {"name": "made", "ownerReferences": [owner]},
            "spec": claim_spec(Ask(device_class="gpu")),
        },
        namespace=namespace,
    )
    with pytest.raises(Violation) as caught:
        claims.must_leave_none()
    assert caught.value.got == "made"


def test_what_was_made_is_gone_at_the_end(client: Client, namespace: str, claims: Claims) -> None:
    claims.create("c", claim_spec(Ask(device_class="gpu")))
    claims.template("t", claim_spec(Ask(device_class="gpu", count=2)))
    claims.delete("c")
    claims.delete("never-there")
    assert claims.state("c") is None
    claims.clear()
    assert client.list(resources.RESOURCE_CLAIM_TEMPLATES, namespace=namespace) == []


def test_alternatives_are_asked_for_in_their_order() -> None:
    ask = Ask(
        name="any",
        alternatives=(
            Ask(name="big", device_class="gpu", count=2),
            Ask(name="small", device_class="gpu", selectors=("true",)),
        ),
    )
    assert claim_spec(ask)["devices"]["requests"] == [
        {
            "name": "any",
            "firstAvailable": [
                {"name": "big", "deviceClassName": "gpu", "count": 2},
                {
                    "name": "small",
                    "deviceClassName": "gpu",
                    "selectors": [{"cel": {"expression": "true"}}],
                },
            ],
        }
    ]
