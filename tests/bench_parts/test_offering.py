"""Which devices cases can have of drivers that do not give every device to any claim."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.devices import Device
from pytest_dra.bench.offer import Offer
from pytest_dra.bench.offering import Offering
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.spec import NotApplicable

A, B, C = (Device(pool="pool", name=name, spec={}) for name in "abc")
ELSEWHERE = Device(pool="pool", name="elsewhere", spec={})


class Three(Offer):
    """Three devices, without a driver."""

    def __init__(self) -> None:
        """Nothing is asked."""

    def devices(self, count: int) -> list[Device]:
        return [A, B, C]


def offering(*, takes_all_devices: bool = False, one_claim_per_pod: bool = False) -> Offering:
    driver = dataclasses.replace(
        DEFAULT_PROFILE.driver,
        takes_all_devices=takes_all_devices,
        one_claim_per_pod=one_claim_per_pod,
    )
    return Offering(Three(), dataclasses.replace(DEFAULT_PROFILE, driver=driver))


def test_usually_every_claim_can_have_any_device() -> None:
    usual = offering()
    assert usual.devices(2) == usual.up_to(2) == [A, B]
    assert usual.batch(2, at_most=8) == [A, B, C]
    assert usual.batch(2, at_most=2) == [A, B]
    assert usual.together(B) == (B,)
    wanted = [Wanted(request="one", devices=(A,)), Wanted(request="two", devices=(B,))]
    assert usual.completed(wanted) == wanted
    usual.calls_must_take(8)


def test_a_driver_that_gives_away_all_devices_has_one_claim_at_a_time() -> None:
    whole = offering(takes_all_devices=True)
    assert whole.devices(1) == whole.up_to(2) == [A]
    assert whole.devices(2, in_one_claim=True) == [A, B]
    assert whole.batch(2, at_most=8) == [A]
    with pytest.raises(NotApplicable, match=r"driver\.takes_all_devices: one claim holds every"):
        whole.devices(2)


def test_a_claim_of_such_a_driver_holds_every_device() -> None:
    whole = offering(takes_all_devices=True)
    assert whole.together(B) == (B, A, C)
    wanted = [Wanted(request="one", devices=(B,)), Wanted(request="two", devices=(C,))]
    assert [each.devices for each in whole.completed(wanted)] == [(B, A), (C,)]
    unknown = [Wanted(request="one", devices=(ELSEWHERE,))]
    assert whole.completed(unknown)[0].devices == (ELSEWHERE, A, B, C)


def test_a_driver_of_one_claim_per_pod_is_called_with_one_claim() -> None:
    single = offering(one_claim_per_pod=True)
    assert single.devices(2) == [A, B]
    assert single.batch(2, at_most=8) == [A]
    single.calls_must_take(0)
    single.calls_must_take(1)
    with pytest.raises(NotApplicable, match=r"driver\.one_claim_per_pod: a call has one claim"):
        single.calls_must_take(2)
