"""Judgements of the metadata that containers find."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pytest_dra.checks import metadata
from pytest_dra.checks.metadata import ROOT
from pytest_dra.checks.metadata import Place
from pytest_dra.spec import Json
from tests.checks.raising import Said
from tests.checks.raising import said

PLACE = Place(driver="x.example.com", claim="c", request="r")
FILE = f"{ROOT}/resourceclaims/c/r/x.example.com-metadata.json"
TEXT = "metadata of request 'r' of claim c"


def mount(target: str = FILE, source: str = "/data/c/r/metadata.json", *options: str) -> Json:
    return {"containerPath": target, "hostPath": source, "options": list(options)}


def document(*devices: Json, **more: Any) -> Json:
    return {
        "apiVersion": "metadata.resource.k8s.io/v1beta1",
        "kind": "DeviceMetadata",
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "generation": 1},
        "requests": [{"name": "r", "devices": list(devices)}],
        **more,
    }


def device(name: str = "d", driver: str = "x.example.com", attributes: Json | None = None) -> Json:
    return {"driver": driver, "pool": "p", "name": name, "attributes": attributes or {}}


def test_a_file_is_looked_for_by_claim_or_by_the_pods_name_for_it() -> None:
    assert PLACE.path == FILE
    made = dataclasses.replace(PLACE, pod_claim="gpu")
    assert made.path == f"{ROOT}/resourceclaimtemplates/gpu/r/x.example.com-metadata.json"


def test_the_file_must_be_mounted_where_it_is_looked_for() -> None:
    edits = {"mounts": [mount("/run/x"), mount()]}
    assert metadata.mount_at(edits, PLACE) == mount()
    where, want = f"{TEXT}, in the edits of its CDI ids", f"a mount at {FILE}"

    def mounted(edits: Json | None) -> Said | None:
        def judge() -> None:
            metadata.mount_at(edits, PLACE)

        return said(judge)

    assert mounted(None) == Said(where, "no CDI ids, or one that does not resolve", want)
    assert mounted({"mounts": [mount("/run/x")]}) == Said(where, "no mount of metadata", want)
    elsewhere = f"{ROOT}/metadata.json"
    assert mounted({"mounts": [mount(elsewhere)]}) == Said(where, [elsewhere], want)


def test_the_first_object_of_a_stream_is_read() -> None:
    assert metadata.document_in(b'\n{"kind": 1}\n{"kind": 2}\n', PLACE) == {"kind": 1}


@pytest.mark.parametrize("data", [b"", b"[]", b'{"kind": ', b"\xff{}"])
def test_what_is_no_object_is_told(data: bytes) -> None:
    def judge() -> None:
        metadata.document_in(data, PLACE)

    found = said(judge)
    assert found is not None
    assert (found.where, found.want) == (
        f"the file with the {TEXT}",
        "a JSON object at its beginning",
    )


def of_claim(found: Json) -> Said | None:
    return said(
        lambda: metadata.must_be_of_the_claim(
            found, PLACE, namespace="n", uid="u", devices={("p", "d")}
        )
    )


def test_a_document_is_about_the_claim_and_its_devices() -> None:
    assert of_claim(document(device(), device("e", driver="other"))) is None
    listed = [{"name": "r/first", "devices": [device()]}, {"name": "s", "devices": [device("e")]}]
    assert of_claim(document(requests=listed)) is None


@pytest.mark.parametrize(
    ("found", "field", "got", "want"),
    [
        (document(device(), apiVersion="v1"), "apiVersion", "v1", " or ".join(metadata.VERSIONS)),
        (document(device(), kind="Pod"), "kind", "Pod", "DeviceMetadata"),
        (document(device(), metadata={}), "metadata.name", None, "c"),
        (document(device(), metadata="c"), "metadata.name", None, "c"),
        (
            document(device(), metadata={"name": "c", "namespace": "n", "uid": "v"}),
            "metadata.uid",
            "v",
            "u",
        ),
        (document(), "requests[].devices", [], "exactly [('p', 'd')]"),
        (document(requests={}), "requests[].devices", [], "exactly [('p', 'd')]"),
        (
            document(device(), device("e")),
            "requests[].devices",
            ["('p', 'd')", "('p', 'e')"],
            "exactly [('p', 'd')]",
        ),
    ],
)
def test_another_claim_version_or_device_is_told(
    found: Json, field: str, got: object, want: str
) -> None:
    assert of_claim(found) == Said(f"{field} in the {TEXT}", got, want)


def own(*mounts: Json) -> Said | None:
    others = {"s": "/data/c/s/metadata.json"}
    edits = {"mounts": list(mounts)}
    return said(lambda: metadata.only_its_own_may_be_mounted(edits, PLACE, others=others))


def test_only_the_requests_own_file_may_be_seen() -> None:
    where, want = f"{TEXT}, in the edits of its CDI ids", f"nothing but {FILE}"
    directory = f"{ROOT}/resourceclaims/c"
    assert own(mount(), mount("/run/x", "/data")) is None
    assert own(mount(f"{directory}/r", "/data/c/r")) is None
    got = f"a mount of /data/c at {directory}, which has request 's'"
    assert own(mount(), mount(directory, "/data/c")) == Said(where, got, want)
    got = f"a mount of /data/c/s/metadata.json at {FILE}, which has request 's'"
    assert own(mount(FILE, "/data/c/s/metadata.json")) == Said(where, got, want)
    got = f"a mount of /else at {directory}/s/f"
    assert own(mount(f"{directory}/s/f", "/else")) == Said(where, got, want)
    assert own(mount("/var/run", "/else")) is not None


def test_a_mount_is_read_only() -> None:
    assert said(lambda: metadata.must_be_read_only(mount(FILE, "/f", "bind", "ro"), PLACE)) is None
    assert said(lambda: metadata.must_be_read_only(mount(FILE, "/f", "bind"), PLACE)) == Said(
        f"mount of the {TEXT}", "options ['bind']", "ro among them"
    )


def test_an_update_raises_the_generation() -> None:
    def risen(now: Json) -> Said | None:
        return said(lambda: metadata.generation_must_rise(document(), now, PLACE, within_s=5))

    assert risen(document(metadata={"generation": 3})) is None
    where = f"metadata.generation in the {TEXT} after an update"
    assert risen(document()) == Said(where, 1, "more than 1 within 5 s")
    assert risen(document(metadata={"generation": "2"})) == Said(where, 0, "more than 1 within 5 s")


def test_a_second_try_finds_a_whole_document() -> None:
    assert said(lambda: metadata.must_be_readable("", PLACE, pause_s=0.1)) is None
    assert said(lambda: metadata.must_be_readable("half of it", PLACE, pause_s=0.1)) == Said(
        f"the file with the {TEXT} during an update, read twice",
        "half of it",
        "a JSON object at the second try, 0.1 s after the first",
    )


def test_nothing_is_left_after_unprepare() -> None:
    assert said(lambda: metadata.must_be_gone([], PLACE)) is None
    assert said(lambda: metadata.must_be_gone(["c", "x=c"], PLACE)) == Said(
        f"{TEXT}, after Unprepare",
        "still there: c, x=c",
        "file, directory and CDI device are gone",
    )


def test_what_both_say_is_the_same() -> None:
    one, two = {"int": 1}, {"int": 2}
    published = {("p", "d"): {"attributes": {"index": one, "x.example.com/model": two}}}

    def agree(**attributes: Json) -> Said | None:
        new = device("new", attributes={"index": one})
        found = document(device(attributes=attributes), new)
        return said(lambda: metadata.attributes_must_agree(found, PLACE, published=published))

    assert agree(index=one, model=two, ip={"string": "10.0.0.1"}) is None
    assert agree(**{"x.example.com/index": one}) is None
    assert agree(index=two) == Said(
        f"attributes of device 'd' of pool 'p' in the {TEXT}",
        {"index": two},
        f"what the slice says: {{'index': {one}}}",
    )
