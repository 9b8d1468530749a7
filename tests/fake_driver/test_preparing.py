"""The good driver prepares and unprepares claims as the contract has it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from typing import Any

import pytest

from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.rig import running

SHARE_A = "11111111-1111-4111-8111-111111111111"
SHARE_B = "22222222-2222-4222-8222-222222222222"


@pytest.fixture(name="rig", scope="module")
def _rig() -> Iterator[Rig]:
    with running() as rig:
        yield rig


def own(parameters: Any, *requests: str, source: str = "FromClaim") -> dict[str, Any]:
    opaque = {"driver": DRIVER, "parameters": parameters}
    return {"source": source, "requests": list(requests), "opaque": opaque}


def settings(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "fake.dra.example/v1", "kind": "DeviceConfig", **fields}


def test_a_claim_is_prepared_with_resolvable_ids_and_released_without_residue(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    entry = rig.prepare(claim)
    assert not entry.error
    device = entry.devices[0]
    assert (device.pool_name, device.device_name) == (NODE, "gpu-0")
    assert list(device.request_names) == ["req0"]
    assert device.cdi_device_ids[0].startswith(f"{DRIVER}/claim={claim.uid}-")
    assert rig.resolves(entry)
    assert rig.unprepare(claim) == ""
    assert rig.residue(claim) == []


def test_both_versions_serve_the_same_claims(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0", shareID=SHARE_A))
    new = rig.dra("prepare", (claim,), "v1.DRAPlugin")[claim.uid].devices[0]
    old = rig.dra("prepare", (claim,), "v1beta1.DRAPlugin")[claim.uid].devices[0]
    assert new.share_id == SHARE_A
    assert list(new.cdi_device_ids) == list(old.cdi_device_ids)
    assert rig.dra("unprepare", (claim,), "v1beta1.DRAPlugin")[claim.uid].error == ""
    assert rig.residue(claim) == []


def test_an_empty_batch_is_answered_without_the_api(rig: Rig) -> None:
    before = rig.store.gets
    assert len(rig.dra("prepare", ())) == 0
    assert len(rig.dra("unprepare", ())) == 0
    assert rig.store.gets == before


def test_request_names_are_main_names_and_one_device_of_two_requests_is_one_device(
    rig: Rig,
) -> None:
    claim = rig.claim(result("gpu-0", "a/sub"), result("gpu-1", "b"), result("gpu-1", "c"))
    entry = rig.prepare(claim)
    names = {device.device_name: list(device.request_names) for device in entry.devices}
    assert names == {"gpu-0": ["a"], "gpu-1": ["b", "c"]}
    rig.unprepare(claim)


@pytest.mark.parametrize(
    ("results", "text"),
    [
        ([], "is not allocated"),
        ([result("no-such-device")], "no device 'no-such-device'"),
        ([{**result("gpu-0"), "driver": "decoy.example.com"}], "holds no device"),
    ],
)
def test_a_claim_that_cannot_be_served_gets_an_error_and_leaves_nothing(
    rig: Rig, results: list[dict[str, Any]], text: str
) -> None:
    claim = rig.claim(*results)
    assert text in rig.prepare(claim).error
    assert rig.residue(claim) == []
    assert rig.unprepare(claim) == ""


def test_a_replaced_or_missing_claim_is_refused(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    other = rig.claim(result("gpu-1"), name=claim.name)
    assert f"now belongs to UID {other.uid}" in rig.prepare(claim).error
    rig.delete(other)
    assert "404" in rig.prepare(claim).error


def test_a_device_is_held_by_one_claim_unless_it_is_shared_or_administered(rig: Rig) -> None:
    first = rig.claim(result("gpu-0"))
    rig.prepare(first)
    second = rig.claim(result("gpu-0"))
    assert f"in use by claim {first.namespace}/{first.name}" in rig.prepare(second).error
    admin = rig.claim(result("gpu-0", adminAccess=True))
    assert rig.prepare(admin).error == ""
    rig.unprepare(first)
    assert rig.prepare(second).error == ""
    shares = [rig.claim(result("gpu-1", shareID=share)) for share in (SHARE_A, SHARE_B)]
    again = rig.claim(result("gpu-1", shareID=SHARE_A))
    assert [rig.prepare(claim).error for claim in shares] == ["", ""]
    assert "in use" in rig.prepare(again).error
    for claim in (second, admin, *shares):
        assert rig.unprepare(claim) == ""


def test_a_prepared_claim_is_answered_alike_and_its_spec_comes_back(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    entry = rig.prepare(claim)
    spec = next(iter(rig.specs()))
    for damage in (spec.unlink, lambda: spec.write_text("{}")):
        damage()
        assert rig.prepare(claim) == entry
        assert rig.resolves(entry)
    rig.allocate(claim, result("gpu-1"))
    assert "another allocation" in rig.prepare(claim).error
    rig.unprepare(claim)
    assert rig.prepare(claim).devices[0].device_name == "gpu-1"
    rig.unprepare(claim)


def test_claim_settings_beat_class_settings_and_a_later_entry_beats_an_earlier_one(
    rig: Rig,
) -> None:
    config = [
        own(settings(label="claim-1", mode="shared"), "a"),
        own(settings(label="class"), source="FromClass"),
        own(settings(label="claim-2"), "a"),
        {**own({"any": "thing"}), "opaque": {"driver": "other.example.com", "parameters": {}}},
        own({"not": "read"}, "foreign"),
    ]
    claim = rig.claim(result("gpu-0", "a/sub"), result("gpu-1", "b"), config=config)
    entry = rig.prepare(claim)
    assert not entry.error
    labels = [
        next(text for text in rig.edits(device.cdi_device_ids[0])["env"] if "_LABEL=" in text)
        for device in entry.devices
    ]
    assert [label.partition("=")[2] for label in labels] == ["claim-2", "class"]
    rig.unprepare(claim)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "apiVersion is missing"),
        (settings(mode="loud"), "mode is 'loud'; want exclusive or shared"),
        (settings(label=7), "label is 7"),
        (settings(labl="x"), "'labl' is no known field"),
        ({**settings(), "kind": "Other"}, "kind is 'Other'"),
        ({**settings(), "apiVersion": "bad.example.com/v0"}, "apiVersion is"),
        ("text", "want an object"),
    ],
)
def test_bad_settings_are_an_error_of_their_claim_alone(
    rig: Rig, parameters: Any, text: str
) -> None:
    good = rig.claim(result("gpu-0"))
    bad = rig.claim(result("gpu-1"), config=[own(parameters)])
    answers = rig.dra("prepare", (bad, good))
    assert answers[good.uid].error == ""
    assert text in answers[bad.uid].error
    assert rig.residue(bad) == []
    rig.unprepare(good)


def test_names_that_could_leave_the_directories_are_refused(rig: Rig) -> None:
    for changed in ({"uid": "../../x"}, {"uid": ""}, {"name": "a/../b"}, {"namespace": "A"}):
        claim = rig.claim(result("gpu-0"))
        forged = type(claim)(
            **{"namespace": "default", "name": claim.name, "uid": claim.uid, **changed}
        )
        assert rig.prepare(forged).error
    assert rig.specs() == {}


def test_the_longest_legal_names_work(rig: Rig) -> None:
    name = ".".join(["a" * 63] * 3 + ["b" * 61])
    claim = rig.claim(result("gpu-0"), name=name, namespace="n" * 63)
    entry = rig.prepare(claim)
    assert not entry.error
    assert rig.resolves(entry)
    assert rig.unprepare(claim) == ""


def test_parallel_calls_for_one_claim_and_for_one_device_end_well(rig: Rig) -> None:
    same = rig.claim(result("gpu-0"))
    rivals = [rig.claim(result("gpu-1")) for _ in range(6)]
    rig.dra("prepare", ())
    with futures.ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(rig.prepare, [same] * 6))
        fights = list(pool.map(rig.prepare, rivals))
    assert all(answer == answers[0] and not answer.error for answer in answers)
    assert sorted(bool(fight.error) for fight in fights) == [False] + [True] * 5
    for claim in (same, *rivals):
        assert rig.unprepare(claim) == ""
    assert rig.specs() == {}


def test_a_failed_spec_is_an_error_and_a_plain_retry_heals_it(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    aside = rig.options.cdi_root.with_name("aside")
    rig.options.cdi_root.rename(aside)
    rig.options.cdi_root.write_text("in the way")
    assert "free the path" in rig.prepare(claim).error
    rig.options.cdi_root.unlink()
    aside.rename(rig.options.cdi_root)
    assert rig.prepare(claim).error == ""
    rig.unprepare(claim)
