"""Server-side apply: owners, conflicts, removal; and owners after ordinary updates."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.spec import Json
from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Answer
from tests.embedded.client import Client
from tests.embedded.client import allocation
from tests.embedded.client import claim
from tests.embedded.client import slice_

APPLY = "application/apply-patch+yaml"


def _apply(client: Client, body: Json, manager: str = "one", **query: str) -> Answer:
    path = f"{CLAIMS}/{body['metadata']['name']}"
    return client.patch(path, body, APPLY, fieldManager=manager, **query)


def _labelled(**labels: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "labels": labels},
    }


def _owners(answer: Answer) -> dict[tuple[str, str], Any]:
    entries = answer.json["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


def test_an_applied_object_is_made_and_owned(client: Client) -> None:
    made = _apply(client, claim())
    assert made.code == 201
    assert _owners(made) == {("one", "Apply"): {"f:spec": {"f:devices": {"f:requests": {}}}}}


def test_applying_the_same_again_changes_nothing(client: Client) -> None:
    client.post(CLAIMS, claim())
    first = _apply(client, _labelled(a="1")).json["metadata"]["resourceVersion"]
    assert _apply(client, _labelled(a="1")).json["metadata"]["resourceVersion"] == first


def test_what_a_manager_no_longer_applies_goes(client: Client) -> None:
    client.post(CLAIMS, claim())
    _apply(client, _labelled(a="1", b="2"))
    assert _apply(client, _labelled(b="2")).json["metadata"]["labels"] == {"b": "2"}


def test_what_somebody_else_owns_too_stays(client: Client) -> None:
    client.post(CLAIMS, claim())
    _apply(client, _labelled(a="1"))
    _apply(client, _labelled(a="1"), "two")
    assert _apply(client, _labelled()).json["metadata"]["labels"] == {"a": "1"}


def test_changing_what_others_own_is_a_conflict(client: Client) -> None:
    client.post(CLAIMS, claim())
    _apply(client, _labelled(a="1"))
    refused = _apply(client, _labelled(a="2"), "two")
    assert (refused.code, refused.json["reason"]) == (409, "Conflict")
    assert refused.causes == {(".metadata.labels.a", "FieldManagerConflict")}
    assert 'conflict with "one"' in refused.json["message"]


def test_force_takes_the_field_away_from_its_owner(client: Client) -> None:
    client.post(CLAIMS, claim())
    _apply(client, _labelled(a="1"))
    forced = _apply(client, _labelled(a="2"), "two", force="true")
    assert forced.json["metadata"]["labels"] == {"a": "2"}
    assert ("one", "Apply") not in _owners(forced)


def test_an_update_takes_what_it_changes(client: Client) -> None:
    client.post(CLAIMS, claim())
    _apply(client, _labelled(a="1", b="1"))
    updated = client.patch(f"{CLAIMS}/c", {"metadata": {"labels": {"a": "2"}}})
    owners = _owners(updated)
    assert owners["one", "Apply"] == {"f:metadata": {"f:labels": {"f:b": {}}}}
    assert owners["unknown", "Update"]["f:metadata"] == {"f:labels": {"f:a": {}}}


def test_items_of_keyed_lists_have_owners_of_their_own(client: Client) -> None:
    client.post(CLAIMS, claim())
    two = allocation()
    two["devices"]["results"].append({**two["devices"]["results"][0], "device": "gpu-1"})
    client.patch(f"{CLAIMS}/c/status", {"status": {"allocation": two}})

    def report(manager: str, *devices: str) -> Answer:
        entries = [
            {"driver": "gpu.example.com", "pool": "node-a", "device": name} for name in devices
        ]
        body = {**_labelled(), "status": {"devices": entries}}
        return client.patch(f"{CLAIMS}/c/status", body, APPLY, fieldManager=manager)

    report("one", "gpu-0")
    report("two", "gpu-1")
    left = report("one").json["status"]["devices"]
    assert [entry["device"] for entry in left] == ["gpu-1"]


def test_the_devices_of_a_slice_are_owned_as_a_whole(client: Client) -> None:
    path = f"{SLICES}/s"
    body = slice_(devices=[{"name": "gpu-0"}])
    assert client.patch(path, body, APPLY, fieldManager="one").code == 201
    body["spec"]["devices"] = [{"name": "gpu-1"}]
    refused = client.patch(path, body, APPLY, fieldManager="two")
    assert refused.causes == {(".spec.devices", "FieldManagerConflict")}


def test_a_client_can_end_the_tracking(client: Client) -> None:
    client.post(SLICES, slice_())
    path = f"{SLICES}/s"
    client.patch(path, {"metadata": {"managedFields": [{}]}})
    assert _owners(client.patch(path, {"metadata": {"labels": {"a": "b"}}})) == {}
    applied = slice_()
    del applied["spec"]["nodeName"]
    owners = _owners(client.patch(path, applied, APPLY, fieldManager="one"))
    assert "f:nodeName" in owners["before-first-apply", "Update"]["f:spec"]


def test_the_manager_of_an_update_is_its_user_agent(client: Client) -> None:
    made = client.send("POST", SLICES, slice_(), {"User-Agent": "my-driver/v1 (linux)"})
    assert list(_owners(made)) == [("my-driver", "Update")]


@pytest.mark.parametrize("number", [10, 14])
def test_old_updates_become_one_entry(client: Client, number: int) -> None:
    client.post(SLICES, slice_())
    for index in range(number):
        body = {"metadata": {"labels": {f"l{index}": "x"}}}
        answer = client.patch(f"{SLICES}/s", body, fieldManager=f"m{index:02}")
    owners = _owners(answer)
    assert len(owners) == 10
    assert ("ancient-changes", "Update") in owners


PARAMETERS = b'{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c"},\
"spec":{"devices":{"requests":[{"exactly":{"deviceClassName":"x"},"name":"r0"}],\
"config":[{"opaque":{"driver":"gpu.example.com","parameters":%s}}]}}}'


@pytest.mark.parametrize(
    ("text", "merge", "apply"),
    [
        (b'{"a":1,"b":"x"}', 200, 200),
        (b'{"a": 1}', 422, 422),
        (b'{"b":1,"a":2}', 200, 422),
        (b'{"a":1.0}', 200, 422),
        (b'{"a":"<&>"}', 422, 422),
        (b'{"a":"\\u00e9"}', 200, 422),
        (b'{"a":1e400}', 200, 422),
        (b'{"a":[{"b":null},true,1.5e-9]}', 200, 200),
    ],
)
def test_parameters_are_compared_as_the_text_that_was_sent(
    client: Client, text: bytes, merge: int, apply: int
) -> None:
    body = PARAMETERS % text
    assert client.send("POST", CLAIMS, body).code == 201
    before = client.get(f"{CLAIMS}/c").json["metadata"]["resourceVersion"]
    same = client.send("PUT", f"{CLAIMS}/c", body)
    assert (same.code, same.json["metadata"]["resourceVersion"]) == (200, before)
    assert client.patch(f"{CLAIMS}/c", {"metadata": {"labels": {"m": "x"}}}).code == merge
    assert _apply(client, _labelled(a="x")).code == apply
    assert client.patch(f"{CLAIMS}/c/status", {"status": {"allocation": {}}}).code == 200


def test_parameters_spelled_differently_are_a_change(client: Client) -> None:
    client.send("POST", CLAIMS, PARAMETERS % b'{"a":1}')
    refused = client.send("PUT", f"{CLAIMS}/c", PARAMETERS % b'{"a": 1}')
    assert refused.causes == {("spec", "Invalid")}


def test_numbers_that_no_float_can_hold_are_answered_as_they_were_sent(client: Client) -> None:
    made = client.send("POST", CLAIMS, PARAMETERS % b'{"a":1e400}')
    assert made.code == 201
    assert '"parameters":{"a":1e400}' in made.text
    assert '"parameters":{"a":1e400}' in client.get(CLAIMS).text
