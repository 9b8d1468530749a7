"""Judgements of what a driver writes to claims."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.checks import claim_status
from pytest_dra.spec import Json
from tests.checks.raising import Said
from tests.checks.raising import said

DRIVER, WHAT, SERIAL = "d", "update of claim n/c/status", 7
RESULT = {"request": "r", "driver": DRIVER, "pool": "p", "device": "a"}
OTHER = {"driver": "other", "pool": "p", "device": "x", "conditions": []}


def claim(*results: Json, devices: list[Json] | None = None, **status: Any) -> Json:
    """A claim with these allocation results."""
    allocation = {"devices": {"results": list(results)}}
    return {"spec": {}, "status": {"allocation": allocation, "devices": devices or [], **status}}


def ready(device: str, status: str = "True", driver: str = DRIVER) -> Json:
    """An entry with the condition Ready."""
    entry = {"driver": driver, "pool": "p", "device": device}
    return {**entry, "conditions": [condition(status=status)]}


def condition(**fields: Any) -> Json:
    """A legal condition, with other fields."""
    made = {
        "type": "Ready", "status": "True", "reason": "Prepared", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    return {**made, **fields}


class TestAllocated:
    def _said(self, *entries: Json) -> Said | None:
        return said(
            lambda: claim_status.entries_must_be_allocated(
                entries,
                driver=DRIVER,
                allocated=claim_status.results_of(claim(RESULT)),
                what=WHAT,
                serial=SERIAL,
            )
        )

    def test_entries_for_held_devices_and_of_others_are_let_pass(self) -> None:
        assert self._said(ready("a"), OTHER) is None

    @pytest.mark.parametrize("more", [{"device": "b"}, {"pool": "q"}, {"shareID": "s"}])
    def test_an_entry_for_another_device_pool_or_share_is_told(self, more: Json) -> None:
        entry = {**ready("a"), **more}
        key = claim_status.key_of(entry)
        assert self._said(entry) == Said(
            f"status.devices in {WHAT}",
            f"an entry for pool, device and share {key[1:]}",
            "entries for what the claim holds: [('p', 'a', '')]",
            (SERIAL,),
        )


class TestOthers:
    def _said(self, *after: Json) -> Said | None:
        before = claim(devices=[OTHER])
        return said(
            lambda: claim_status.others_must_stay(
                before, claim(devices=list(after)), driver=DRIVER, what=WHAT, serial=SERIAL
            )
        )

    def test_own_entries_and_another_order_change_nothing(self) -> None:
        assert self._said(ready("a"), OTHER) is None

    @pytest.mark.parametrize("left", [[], [{**OTHER, "conditions": [condition()]}]])
    def test_entries_that_vanish_or_change_are_told(self, left: list[Json]) -> None:
        assert self._said(ready("a"), *left) == Said(
            f"entries of other drivers in status.devices after {WHAT}",
            left,
            f"unchanged: {[OTHER]}",
            (SERIAL,),
        )


class TestLimits:
    def _said(self, **fields: Any) -> Said | None:
        entry = {"driver": DRIVER, "pool": "p", "device": "a", **fields}
        return said(lambda: claim_status.limits_must_be_kept([entry], what=WHAT, serial=SERIAL))

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"conditions": [condition(type=f"t-{n}") for n in range(8)]},
            {"conditions": [condition(type="example.com/Ready", status="Unknown")]},
            {"data": {"a": ["b"]}},
            {"networkData": {"interfaceName": "e" * 256, "hardwareAddress": "f" * 128}},
            {"networkData": {"ips": ["192.0.2.5/24", "192.0.2.0/24", "2001:db8::1/64"]}},
        ],
    )
    def test_what_is_legal_is_let_pass(self, fields: Json) -> None:
        assert self._said(**fields) is None

    @pytest.mark.parametrize(
        ("fields", "where", "got"),
        [
            ({"conditions": [condition(type=f"t-{n}") for n in range(9)]}, "conditions",
             "9 conditions"),
            ({"conditions": [condition(), condition()]}, "conditions[1].type", "Ready"),
            ({"conditions": [condition(type="a b")]}, "conditions[0].type", "a b"),
            ({"conditions": [condition(status="true")]}, "conditions[0].status", "true"),
            ({"conditions": [condition(lastTransitionTime=None)]},
             "conditions[0].lastTransitionTime", None),
            ({"conditions": [condition(reason="")]}, "conditions[0].reason", ""),
            ({"conditions": [condition(reason="a b")]}, "conditions[0].reason", "a b"),
            ({"conditions": [condition(message="m" * 32769)]}, "conditions[0].message",
             "32769 bytes"),
            ({"data": ["a"]}, "data", ["a"]),
            ({"data": {"a": "b" * 10240}}, "data", "10248 bytes"),
            ({"networkData": {"interfaceName": "e" * 257}}, "networkData.interfaceName",
             "257 bytes"),
            ({"networkData": {"hardwareAddress": "f" * 129}}, "networkData.hardwareAddress",
             "129 bytes"),
            ({"networkData": {"ips": [f"192.0.2.{n}/24" for n in range(17)]}}, "networkData.ips",
             "17 addresses"),
            ({"networkData": {"ips": ["192.0.2.1"]}}, "networkData.ips[0]", "192.0.2.1"),
            ({"networkData": {"ips": ["::1/64", "::1/64"]}}, "networkData.ips[1]", "::1/64"),
            ({"networkData": {"ips": ["2001:DB8::1/64"]}}, "networkData.ips[0]", "2001:DB8::1/64"),
            ({"networkData": {"ips": ["none"]}}, "networkData.ips[0]", "none"),
        ],
    )  # fmt: skip
    def test_what_is_not_is_told_with_its_place(
        self, fields: Json, where: str, got: object
    ) -> None:
        found = self._said(**fields)
        assert found is not None
        assert (found.where, found.got) == (f"status.devices[0].{where} in {WHAT}", got)
        assert found.want
        assert found.proof == (SERIAL,)


POD = {"resource": "pods", "name": "p", "uid": "u"}


class TestLeftAlone:
    @pytest.mark.parametrize(
        ("field", "after"),
        [
            ("status.reservedFor", claim(RESULT, reservedFor=[])),
            ("status.allocation", claim(reservedFor=[POD])),
            ("spec", {**claim(RESULT, reservedFor=[POD]), "spec": {"devices": {}}}),
        ],
    )
    def test_each_part_that_is_not_the_drivers_is_told(self, field: str, after: Json) -> None:
        before = claim(RESULT, reservedFor=[POD])
        found = said(lambda: claim_status.must_leave_alone(before, after, what=WHAT, serial=SERIAL))
        assert found is not None
        assert found.where == f"{field} of a claim after {WHAT}"

    def test_entries_of_devices_may_change(self) -> None:
        before = claim(RESULT, reservedFor=[POD])
        after = claim(RESULT, reservedFor=[POD], devices=[ready("a")])
        assert (
            said(lambda: claim_status.must_leave_alone(before, after, what=WHAT, serial=SERIAL))
            is None
        )

    def _tried(self, **named: Any) -> Said | None:
        before = claim(RESULT, reservedFor=[POD])
        body = {"status": named}
        return said(lambda: claim_status.must_not_try(before, body, what=WHAT, serial=SERIAL))

    def test_a_refused_write_of_devices_alone_is_let_pass(self) -> None:
        assert self._tried(devices=[ready("a")]) is None
        assert self._tried(reservedFor=[POD]) is None

    def test_a_refused_write_that_would_have_changed_more_is_told(self) -> None:
        assert self._tried(reservedFor=None) == Said(
            f"status.reservedFor of a claim in {WHAT}, which was refused",
            None,
            f"unchanged: {[POD]}",
            (SERIAL,),
        )


class TestReleased:
    def _said(self, *entries: Json) -> Said | None:
        found = claim_status.ready_of(claim(devices=list(entries)), DRIVER)
        return said(lambda: claim_status.must_not_be_ready(found, within_s=30, what="a claim"))

    def test_no_entry_one_of_another_driver_and_one_that_is_not_ready_are_let_pass(self) -> None:
        assert self._said() is None
        assert self._said(ready("x", driver="other"), ready("a", "False"), OTHER) is None

    def test_a_device_that_stays_ready_is_told(self) -> None:
        assert self._said(ready("a")) == Said(
            "status.devices of a claim, 30 s after Unprepare",
            "Ready is True for [('p', 'a', '')]",
            "no entry, or one whose condition Ready is not True",
        )
