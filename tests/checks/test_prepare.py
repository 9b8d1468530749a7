"""Judgements of answers to Prepare and Unprepare."""

from __future__ import annotations

import pytest

from pytest_dra.checks import prepare
from pytest_dra.wire.answers import ClaimAnswer
from pytest_dra.wire.answers import PreparedDevice
from tests.checks.answers import OTHER
from tests.checks.answers import SERIAL
from tests.checks.answers import UID
from tests.checks.answers import answered
from tests.checks.answers import broken
from tests.checks.answers import device
from tests.checks.answers import entries
from tests.checks.answers import ref
from tests.checks.answers import refused
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said

WHAT = "Prepare of a claim"
ALLOCATED = {("node-a", "gpu-0"), ("node-a", "gpu-1")}
REQUESTS = {("node-a", "gpu-0"): ["one"], ("node-a", "gpu-1"): ["two", "three"]}
PROOF = (SERIAL,)

OK = entries({UID: ClaimAnswer(error="")})
BOTH = answered(device("gpu-0"), device("gpu-1"))


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(
            lambda: prepare.must_succeed(OK, UID, what=WHAT), id="an entry without devices succeeds"
        ),
        pytest.param(
            lambda: prepare.must_succeed(
                entries({UID: ClaimAnswer(error=""), OTHER: ClaimAnswer(error="no")}),
                UID,
                what=WHAT,
            ),
            id="an error of another claim is no error of this one",
        ),
        pytest.param(lambda: prepare.must_not_fail(OK, UID, what=WHAT), id="ok is no failure"),
        pytest.param(
            lambda: prepare.must_not_fail(entries({}), UID, what=WHAT),
            id="a missing entry is no failure",
        ),
        pytest.param(
            lambda: prepare.must_be_refused(refused("no"), UID, what=WHAT),
            id="an error of the claim refuses it",
        ),
        pytest.param(
            lambda: prepare.must_be_refused(broken(), UID, what=WHAT),
            id="an error of the call refuses the claim",
        ),
        pytest.param(
            lambda: prepare.every_claim_must_have_an_entry(
                entries({UID: ClaimAnswer(error="no"), OTHER: ClaimAnswer(error="")}),
                [ref(UID)],
                method=prepare.PREPARE,
            ),
            id="entries beyond the claims are no missing entries, and an error is an entry",
        ),
        pytest.param(
            lambda: prepare.no_other_claims(
                entries({}), [ref(UID), ref(OTHER)], method=prepare.PREPARE
            ),
            id="no entry is no other entry",
        ),
        pytest.param(
            lambda: prepare.devices_must_be_named(BOTH, UID, allocated=ALLOCATED, what="a claim"),
            id="allocated devices are named",
        ),
        pytest.param(
            lambda: prepare.devices_must_be_named(OK, UID, allocated=ALLOCATED, what="a claim"),
            id="no device is no wrong name",
        ),
        pytest.param(
            lambda: prepare.devices_must_be_all(
                answered(device("gpu-1"), device("gpu-0"), device("gpu-1")),
                UID,
                allocated=ALLOCATED,
                what="a claim",
            ),
            id="all devices in any order, one of them twice",
        ),
        pytest.param(
            lambda: prepare.devices_must_be_all(
                answered(device("gpu-0", pool=""), device("gpu-1", pool="")),
                UID,
                allocated=ALLOCATED,
                what="a claim",
            ),
            id="empty pool names are another case's matter",
        ),
        pytest.param(
            lambda: prepare.only_these_devices(BOTH, UID, allocated=ALLOCATED, what="a claim"),
            id="exactly the allocated devices",
        ),
        pytest.param(
            lambda: prepare.only_these_devices(OK, UID, allocated=ALLOCATED, what="a claim"),
            id="a driver without CDI returns none",
        ),
        pytest.param(
            lambda: prepare.request_names_must_be_main_requests(
                answered(device("gpu-0", requests=()), device("gpu-1", requests=("three", "two"))),
                UID,
                requests=REQUESTS,
                what="a claim",
            ),
            id="request names are empty or main requests of the device",
        ),
        pytest.param(
            lambda: prepare.must_be_the_same(
                answered(device("gpu-0", ids=("a", "b"), requests=("x", "y")), device("gpu-1")),
                answered(device("gpu-1"), device("gpu-0", ids=("b", "a"), requests=("y", "x"))),
                UID,
                what=WHAT,
            ),
            id="order does not make an answer another one",
        ),
    ],
)
def test_good_answers_are_let_pass(judgement: Judgement) -> None:
    assert said(judgement) is None


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        pytest.param(
            lambda: prepare.must_succeed(refused("device busy"), UID, what=WHAT),
            Said(WHAT, "device busy", "OK and an entry without error", PROOF),
            id="must_succeed-claim-error",
        ),
        pytest.param(
            lambda: prepare.must_succeed(broken(), UID, what=WHAT),
            Said(WHAT, "INTERNAL: boom", "OK and an entry without error", PROOF),
            id="must_succeed-call-error",
        ),
        pytest.param(
            lambda: prepare.must_succeed(entries({}), UID, what=WHAT),
            Said(WHAT, "no entry for claim uid uid-a", "OK and an entry without error", PROOF),
            id="must_succeed-no-entry",
        ),
        pytest.param(
            lambda: prepare.must_not_fail(refused("unknown claim"), UID, what=WHAT),
            Said(WHAT, "unknown claim", "OK without an error", PROOF),
            id="must_not_fail-claim-error",
        ),
        pytest.param(
            lambda: prepare.must_not_fail(broken("NOT_FOUND", "who?"), UID, what=WHAT),
            Said(WHAT, "NOT_FOUND: who?", "OK without an error", PROOF),
            id="must_not_fail-call-error",
        ),
        pytest.param(
            lambda: prepare.must_be_refused(BOTH, UID, what=WHAT),
            Said(
                WHAT,
                "OK with devices ['gpu-0', 'gpu-1']",
                "an error for the claim or for the call",
                PROOF,
            ),
            id="must_be_refused-accepted",
        ),
        pytest.param(
            lambda: prepare.must_be_refused(
                broken("DEADLINE_EXCEEDED", "", after_s=45.2), UID, what=WHAT
            ),
            Said(WHAT, "no answer in 45 s", "an error for the claim or for the call", PROOF),
            id="must_be_refused-silence",
        ),
        pytest.param(
            lambda: prepare.every_claim_must_have_an_entry(
                entries({OTHER: ClaimAnswer(error="")}),
                [ref(UID), ref(OTHER), ref("uid-c")],
                method=prepare.UNPREPARE,
            ),
            Said(
                "NodeUnprepareResources of 3 claims",
                "1 entries",
                "an entry for each, also for uid-a, uid-c",
                PROOF,
            ),
            id="every_claim_must_have_an_entry-missing",
        ),
        pytest.param(
            lambda: prepare.every_claim_must_have_an_entry(
                broken(), [ref(UID)], method=prepare.PREPARE
            ),
            Said(
                "NodePrepareResources of 1 claims",
                "INTERNAL: boom",
                "an entry for each, also for uid-a",
                PROOF,
            ),
            id="every_claim_must_have_an_entry-call-error",
        ),
        pytest.param(
            lambda: prepare.no_other_claims(
                entries({UID: ClaimAnswer(error=""), "z": ClaimAnswer(error="")}),
                [ref(UID)],
                method=prepare.PREPARE,
            ),
            Said(
                "NodePrepareResources answer",
                "entries for z",
                "entries for the claims of the request only",
                PROOF,
            ),
            id="no_other_claims",
        ),
        *(
            pytest.param(
                lambda wrong=wrong: prepare.devices_must_be_named(
                    answered(device("gpu-0"), wrong), UID, allocated=ALLOCATED, what="a claim"
                ),
                Said(
                    "a device of a claim",
                    f"pool_name {wrong.pool_name!r}, device_name {wrong.device_name!r}",
                    "one of the allocation results [('node-a', 'gpu-0'), ('node-a', 'gpu-1')]",
                    PROOF,
                ),
                id=f"devices_must_be_named-{name}",
            )
            for name, wrong in {
                "no-pool": device("gpu-1", pool=""),
                "no-device": device(""),
                "other-pool": device("gpu-1", pool="node-b"),
                "other-device": device("gpu-2"),
            }.items()
        ),
        *(
            pytest.param(
                lambda check=check: check(
                    answered(device("gpu-0")), UID, allocated=ALLOCATED, what="a claim"
                ),
                Said(
                    "devices of a claim",
                    [("node-a", "gpu-0")],
                    "exactly [('node-a', 'gpu-0'), ('node-a', 'gpu-1')]",
                    PROOF,
                ),
                id=f"{check.__name__}-one-missing",
            )
            for check in (prepare.devices_must_be_all, prepare.only_these_devices)
        ),
        pytest.param(
            lambda: prepare.devices_must_be_all(OK, UID, allocated=ALLOCATED, what="a claim"),
            Said(
                "devices of a claim",
                [],
                "exactly [('node-a', 'gpu-0'), ('node-a', 'gpu-1')]",
                PROOF,
            ),
            id="devices_must_be_all-none",
        ),
        pytest.param(
            lambda: prepare.only_these_devices(
                answered(device("gpu-0"), device("decoy-0", pool="decoy-pool")),
                UID,
                allocated={("node-a", "gpu-0")},
                what="a claim",
            ),
            Said(
                "devices of a claim",
                [("decoy-pool", "decoy-0"), ("node-a", "gpu-0")],
                "exactly [('node-a', 'gpu-0')]",
                PROOF,
            ),
            id="only_these_devices-one-more",
        ),
        *(
            pytest.param(
                lambda names=names: prepare.request_names_must_be_main_requests(
                    answered(device("gpu-1", requests=names)),
                    UID,
                    requests=REQUESTS,
                    what="a claim",
                ),
                Said(
                    "request_names of device 'gpu-1' in a claim",
                    list(names),
                    "empty, or names among ['three', 'two'], without /subrequest",
                    PROOF,
                ),
                id=f"request_names-{name}",
            )
            for name, names in {
                "subrequest": ("two/sub",),
                "of-another-device": ("one",),
                "one-of-two-invented": ("two", "twox"),
            }.items()
        ),
        pytest.param(
            lambda: prepare.must_be_the_same(
                answered(device("gpu-0"), serial=3),
                entries({UID: ClaimAnswer(error="busy")}, serial=9),
                UID,
                what=WHAT,
            ),
            Said(WHAT, "busy", "OK and an entry without error", (9,)),
            id="must_be_the_same-refused",
        ),
        *(
            pytest.param(
                lambda again=again: prepare.must_be_the_same(
                    answered(device("gpu-0", ids=("a",)), serial=3),
                    again,
                    UID,
                    what=WHAT,
                ),
                Said(
                    WHAT,
                    list(prepare.canonical(again.devices_of(UID))),
                    "the first answer again: [('node-a', 'gpu-0', ('req-0',), ('a',))]",
                    (3, 9),
                ),
                id=f"must_be_the_same-{name}",
            )
            for name, again in {
                "other-ids": answered(device("gpu-0", ids=("b",)), serial=9),
                "an-id-more": answered(device("gpu-0", ids=("a", "a")), serial=9),
                "other-requests": answered(device("gpu-0", ids=("a",), requests=()), serial=9),
                "other-pool": answered(device("gpu-0", ids=("a",), pool="p"), serial=9),
                "a-device-twice": answered(*[device("gpu-0", ids=("a",))] * 2, serial=9),
                "no-device": answered(serial=9),
            }.items()
        ),
    ],
)
def test_bad_answers_are_told_with_place_value_and_wish(
    judgement: Judgement, expected: Said
) -> None:
    assert said(judgement) == expected


def test_a_pair_without_pool_is_completed_from_the_allocation_alone() -> None:
    devices = [device("gpu-0", pool=""), device("gpu-9", pool=""), device("gpu-1", pool="other")]
    assert prepare.pairs(devices, allocated=ALLOCATED) == {
        ("node-a", "gpu-0"),
        ("", "gpu-9"),
        ("other", "gpu-1"),
    }


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param((), id="none"),
        pytest.param(
            (device("gpu-0", requests=("one",), ids=("v.t/c=1",)),
             device("gpu-1", requests=("two", "three"), ids=("v.t/c=2",))),
            id="their own",
        ),
        pytest.param((device("gpu-0", requests=(), ids=()),), id="no CDI id"),
        pytest.param((device("gpu-0", requests=("onex",), ids=("v.t/c=1",)),), id="no request"),
        pytest.param((device("gpu-1", requests=("three",), ids=("v.t/c=1",)),), id="one of two"),
    ],
)  # fmt: skip
def test_devices_of_their_own_requests_are_let_pass(
    devices: tuple[PreparedDevice, ...],
) -> None:
    reply = answered(*devices)
    judged = said(
        lambda: prepare.requests_must_be_apart(reply, UID, requests=REQUESTS, what="a claim")
    )
    assert judged is None


@pytest.mark.parametrize("names", [(), ("two",), ("one", "three")])
def test_a_device_of_all_or_of_other_requests_is_told(names: tuple[str, ...]) -> None:
    reply = answered(device("gpu-0", requests=names, ids=("v.t/c=1",)))
    judged = said(
        lambda: prepare.requests_must_be_apart(reply, UID, requests=REQUESTS, what="a claim")
    )
    assert judged == Said(
        "request_names of device 'gpu-0' in a claim",
        list(names),
        "['one'] only (an empty list means all requests)",
        PROOF,
    )
