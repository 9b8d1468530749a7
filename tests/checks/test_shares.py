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
