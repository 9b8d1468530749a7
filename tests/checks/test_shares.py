"""Shares in answers to Prepare, and policies of shared devices."""

from __future__ import annotations

import pytest

from pytest_dra.checks import shares
from pytest_dra.checks import taints
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.wire.answers import ClaimAnswer
from pytest_dra.wire.answers import NodeReply
from pytest_dra.wire.answers import PreparedDevice

UID, WHAT = "u", "a claim with two shares"


def reply(*devices: tuple[str | None, str]) -> NodeReply:
    """An answer with devices of (share id, CDI id)."""
    made = tuple(
        PreparedDevice(
            request_names=("r",),
            pool_name="p",
            device_name="d",
            cdi_device_ids=(cdi,),
            share_id=share,
        )
        for share, cdi in devices
    )
    answer = ClaimAnswer(error="", devices=made)
    return NodeReply(code="OK", details="", duration_s=0.0, serial=7, claims={UID: answer})


def apart(answer: NodeReply, *, told: bool = True) -> None:
    shares.must_be_apart(answer, UID, shares=["one", "two"], told=told, what=WHAT)


def test_share_ids_are_those_of_the_allocation() -> None:
    shares.ids_must_be_repeated(reply(("one", "x")), UID, shares=["one"], what=WHAT)
    for found in (None, "", "other"):
        with pytest.raises(Violation, match=WHAT) as caught:
            shares.ids_must_be_repeated(reply((found, "x")), UID, shares=["one"], what=WHAT)
        assert caught.value.got == f"share_id {[found]}"
        assert caught.value.proof == (7,)


def test_two_shares_are_told_apart_by_id_entry_or_cdi_device() -> None:
    apart(reply(("one", "x"), ("two", "x")))
    apart(reply((None, "x"), (None, "x")))
    apart(reply((None, "x"), (None, "y")), told=False)


def test_one_share_in_place_of_two_is_told() -> None:
    with pytest.raises(Violation, match=WHAT) as caught:
        apart(reply(("two", "x")))
    assert caught.value.got == "share_id ['two']"
    with pytest.raises(Violation) as caught:
        apart(reply((None, "x")), told=False)
    assert caught.value.got == "1 devices with 1 CDI ids"


def shared(policy: Json | None, **more: object) -> Json:
    value = {"value": "8", **({"requestPolicy": policy} if policy else {})}
    return {"allowMultipleAllocations": True, "capacity": {"m": value}, **more}


def test_the_policy_is_what_must_stay() -> None:
    policy = {"default": "1"}
    shares.policy_must_stay(shared(policy), shared(policy, attributes={}), what=WHAT)
    for changed in (shared(None), shared({"default": "2"}), {**shared(policy), **NO_SHARES}):
        with pytest.raises(Violation, match=WHAT):
            shares.policy_must_stay(shared(policy), changed, what=WHAT)


NO_SHARES: Json = {"allowMultipleAllocations": False}


def test_a_faulty_device_is_there_and_tainted() -> None:
    taint = {"key": "a/b", "effect": "NoExecute"}
    taints.must_be_tainted({"taints": [taint]}, device="d", within_s=60)
    for now, got in (({}, "published without a taint"), (None, "not published any more")):
        with pytest.raises(Violation) as caught:
            taints.must_be_tainted(now, device="d", within_s=60)
        assert caught.value.got == got
        assert caught.value.want == "published with a taint within 60 s"


def test_a_healed_device_is_as_before() -> None:
    before: Json = {"name": "d", "attributes": {"a": {"int": 1}}}
    taints.must_be_as_before(dict(before), before, device="d", within_s=60)
    for now in (None, {**before, "taints": [{"key": "a"}]}, {"name": "d"}):
        with pytest.raises(Violation, match="which has been healed"):
            taints.must_be_as_before(now, before, device="d", within_s=60)


def test_a_faulty_device_is_gone_or_closed_to_new_claims() -> None:
    for now in (None, {"taints": [{"key": "a", "effect": "NoExecute"}]}):
        taints.must_be_closed(now, device="d", within_s=60)
    for open_still in ({}, {"taints": [{"key": "a", "effect": "None"}]}):
        with pytest.raises(Violation, match="which has become faulty") as caught:
            taints.must_be_closed(open_still, device="d", within_s=60)
        assert caught.value.want == "gone, or with a taint NoSchedule or NoExecute, within 60 s"


def test_what_is_consumed_is_enforced() -> None:
    def enforced(seen: str) -> None:
        shares.consumed_must_be_enforced(seen, wanted="2", requested="1", what="2 memory")

    enforced("2")
    with pytest.raises(Violation, match="a share with 2 memory that has asked for 1") as caught:
        enforced("1")
    assert caught.value.got == "1"
    assert caught.value.want == "that of a share which has asked for 2 memory: 2"


def tainted(time: str, value: str = "") -> Json:
    return {
        "name": "d",
        "taints": [{"key": "a/b", "value": value, "effect": "NoExecute", "timeAdded": time}],
    }


def test_a_taint_that_stays_keeps_its_time() -> None:
    for now in (tainted("1"), tainted("2", "worse"), {}, None):
        taints.times_must_stay(tainted("1"), now, device="d", after="e is faulty")
    with pytest.raises(Violation, match="of device 'd' after e is faulty") as caught:
        taints.times_must_stay(tainted("1"), tainted("2"), device="d", after="e is faulty")
    assert caught.value.got == "2"
    assert caught.value.want == "1, as before: the taint is the same"


def test_updates_change_more_than_times() -> None:
    def item(device: Json, **more: object) -> Json:
        return {"metadata": {"name": "s"}, "spec": {"devices": [device], **more}}

    one, two = item(tainted("1")), item(tainted("2"))
    changed = item(tainted("2"), driver="x")
    taints.times_must_not_be_all_that_changes([(1, one, two), (2, one, changed)], most=1)
    taints.times_must_not_be_all_that_changes([(1, one, one), (2, one, one)], most=1)
    with pytest.raises(Violation, match="updates of ResourceSlice s") as caught:
        taints.times_must_not_be_all_that_changes([(1, one, two), (2, two, one)], most=1)
    assert caught.value.got == "2 that change nothing but timeAdded of taints"
    assert caught.value.proof == (1, 2)
