"""Media types and decoding: protobuf as client-go sends it, strictness, warnings."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from pytest_dra.embedded import protobuf
from pytest_dra.embedded import typed
from pytest_dra.embedded.negotiation import read_yaml
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Timeline
from tests.embedded.client import PROTOBUF
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import slice_

SLICE = base64.b64decode(
    "azhzAAojChJyZXNvdXJjZS5rOHMuaW8vdjESDVJlc291cmNlU2xpY2USLgoMCgpwYi11bmtub3duEh4KDnBiLmV4YW1wb"
    "GUuY29tEgcKAXAQARgBKAH4AQc="
)
"""A slice named pb-unknown with a field number that does not exist, as recorded."""

DELETE_WRONG_UID = base64.b64decode(
    "azhzAAojChJyZXNvdXJjZS5rOHMuaW8vdjESDURlbGV0ZU9wdGlvbnMSKBImCiQ4ODg4ODg4OC04ODg4LTQ4ODgtODg4"
    "OC04ODg4ODg4ODg4ODgaACIA"
)
"""DeleteOptions in the group version of the resource, with a UID precondition, as recorded."""


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(*fields: tuple[int, int | bytes | str]) -> bytes:
    """A message from (number, value) pairs."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += _key(number, 0) + _varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += _key(number, 2) + _varint(len(data)) + data
    return out


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    """The envelope around an object."""
    meta = message((1, api_version), (2, kind))
    return b"k8s\0" + message((1, meta), (2, raw))


def _send(client: Client, method: str, path: str, body: bytes) -> Any:
    return client.send(method, path, body, {"Content-Type": PROTOBUF})


def test_a_recorded_slice_is_stored_and_unknown_numbers_are_dropped(
    client: Client, timeline: Timeline
) -> None:
    answer = _send(client, "POST", SLICES, SLICE)
    assert answer.code == 201
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["spec"]["driver"] == "pb.example.com"
    body = timeline.entries(ApiRequest)[0].event.body
    assert body is not None
    assert body["kind"] == "ResourceSlice"
    assert body["spec"]["pool"] == {"name": "p", "generation": 1, "resourceSliceCount": 1}


def test_recorded_delete_options_carry_their_preconditions(client: Client) -> None:
    _send(client, "POST", SLICES, SLICE)
    assert _send(client, "DELETE", f"{SLICES}/pb-unknown", DELETE_WRONG_UID).code == 409


@pytest.mark.parametrize("body", [b"", b"\0\0\0", SLICE[:-3], b"k8s\0\x0a\xff"])
def test_malformed_protobuf_is_400(client: Client, body: bytes) -> None:
    assert _send(client, "POST", SLICES, body).code == 400


def test_zeros_of_pointers_stay_and_zeros_of_plain_fields_go() -> None:
    attribute = message((1, "index"), (2, message((2, 0))))
    negative = message((1, "low"), (2, message((2, -5))))
    false = message((1, "ok"), (2, message((3, 0))))
    device = message((1, "d"), (2, attribute), (2, negative), (2, false), (12, 0))
    spec = message((1, "gpu.example.com"), (2, message((1, "p"), (2, 0), (3, 1))), (6, device))
    raw = message((1, message((1, "s"), (3, ""), (7, 0))), (2, spec))
    found = protobuf.decode("resource.ResourceSlice", raw)
    assert found["metadata"] == {"name": "s"}
    assert found["spec"]["devices"] == [
        {
            "name": "d",
            "attributes": {"index": {"int": 0}, "low": {"int": -5}, "ok": {"bool": False}},
            "allowMultipleAllocations": False,
        }
    ]


def test_inlined_structs_quantities_times_and_raw_json() -> None:
    opaque = message((1, "gpu.example.com"), (2, message((1, '{"a":[1,null]}'))))
    config = message((1, "r0"), (2, message((1, opaque))))
    claim = message((2, message((1, message((3, config))))))
    found = protobuf.decode("resource.ResourceClaim", claim)
    assert found["spec"]["devices"]["config"] == [
        {
            "requests": ["r0"],
            "opaque": {"driver": "gpu.example.com", "parameters": {"a": [1, None]}},
        }
    ]
    taint = message((1, "k"), (3, "None"), (4, message((1, 1767225600), (2, 0))))
    found = protobuf.decode("resource.DeviceTaint", taint)
    assert found["timeAdded"] == "2026-01-01T00:00:00Z"
    capacity = message((1, message((1, "1Gi"))))
    assert protobuf.decode("resource.DeviceCapacity", capacity) == {"value": "1Gi"}
    lease = message((3, message((1, 1767225600), (2, 123456000))))
    found = protobuf.decode("coordination.LeaseSpec", lease)
    assert found == {"acquireTime": "2026-01-01T00:00:00.123456Z"}


@pytest.mark.parametrize(
    ("path", "version", "kind", "more"),
    [
        ("/api/v1/nodes", "v1", "Node", ()),
        ("/api/v1/namespaces", "v1", "Namespace", ()),
        ("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap", ()),
        ("/api/v1/namespaces/default/secrets", "v1", "Secret", ()),
        ("/api/v1/namespaces/default/serviceaccounts", "v1", "ServiceAccount", ()),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            "coordination.k8s.io/v1",
            "Lease",
            (),
        ),
        (
            "/api/v1/namespaces/default/pods",
            "v1",
            "Pod",
            ((2, message((2, message((1, "c"), (2, "i"))))),),
        ),
        (
            "/api/v1/namespaces/default/events",
            "v1",
            "Event",
            ((2, message((1, "Pod"), (2, "default"), (3, "p"))),),
        ),
    ],
)
def test_every_kind_that_a_driver_writes_can_be_sent_as_protobuf(
    client: Client, path: str, version: str, kind: str, more: tuple[tuple[int, bytes], ...]
) -> None:
    body = wrap(version, kind, message((1, message((1, "x"))), *more))
    answer = _send(client, "POST", path, body)
    assert (answer.code, answer.json["metadata"]["name"]) == (201, "x")


@pytest.mark.parametrize(
    ("media", "code"),
    [
        ("", 201),
        ("application/json; charset=utf-8", 201),
        ("text/plain", 415),
        ("application/cbor", 415),
        ("application/merge-patch+json", 415),
    ],
)
def test_media_types_of_bodies(client: Client, media: str, code: int) -> None:
    assert client.send("POST", SLICES, slice_(), {"Content-Type": media}).code == code


def test_yaml_bodies_are_read_and_their_aliases_refused(client: Client) -> None:
    body = b"metadata: {name: y}\nspec: {driver: d, allNodes: true, "
    body += b"pool: {name: p, resourceSliceCount: 1}}\n"
    media = {"Content-Type": "application/yaml"}
    assert client.send("POST", SLICES, body, media).code == 201
    assert client.send("POST", SLICES, b"a: &a [1]\nb: *a\n", media).code == 400


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"{} x",
        b'{"kind":"ResourceClaim"}',
        b'{"apiVersion":"v1"}',
        b'{"metadata":[]}',
        b'{"spec":{"driver":5}}',
        b'{"spec":{"pool":{"generation":1.0}}}',
        b'{"spec":{"pool":{"generation":9223372036854775808}}}',
        b'{"spec":{"devices":[{"capacity":{"m":{"value":"1Zi"}}}]}}',
        b"[" * 100_000,
        b'{"kind":"\xff\xff"}',
    ],
)
def test_bodies_of_the_wrong_shape_are_400(client: Client, text: bytes) -> None:
    answer = client.send("POST", SLICES, text, {"Content-Type": "application/json"})
    assert (answer.code, answer.json["reason"]) == (400, "BadRequest")


def test_unknown_and_duplicate_fields_warn_or_fail(client: Client) -> None:
    body = slice_(foo=1)
    assert "unknown field" in client.post(SLICES, body, dryRun="All").headers["warning"]
    strict = client.post(SLICES, body, fieldValidation="Strict")
    assert (strict.code, strict.json["reason"]) == (400, "BadRequest")
    assert "warning" not in client.post(SLICES, body, fieldValidation="Ignore").headers
    twice = b'{"metadata":{"name":"a","name":"b"}}'
    answer = client.send("POST", f"{SLICES}?fieldValidation=Strict", twice)
    assert 'duplicate field "name"' in answer.json["message"]


def test_nulls_are_absent_and_empty_lists_are_seen_until_they_are_stored() -> None:
    notes = typed.Notes()
    sent = {"metadata": {"labels": None}, "spec": {"devices": [], "nodeSelector": None}}
    found = typed.read("resource.ResourceSlice", sent, notes)
    assert notes.empties
    assert found["spec"]["devices"] == []
    kept = typed.prune("resource.ResourceSlice", found)
    assert set(kept["spec"]) == {"driver", "pool"}
    claim = typed.read("resource.ResourceClaim", {"spec": {"devices": {"requests": []}}}, notes)
    assert typed.prune("resource.ResourceClaim", claim) == {
        "metadata": {},
        "spec": {"devices": {"requests": None}},
        "status": {},
    }


def test_whole_numbers_of_yaml_lose_their_point_as_on_the_way_to_json() -> None:
    assert repr(read_yaml(b"a: 1.0\nb: 1.5\nc: 1.0e+22\n")) == "{'a': 1, 'b': 1.5, 'c': 1e+22}"
