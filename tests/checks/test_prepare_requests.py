"""Judgements of answers to unusual requests: refused, empty, re-allocated."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_dra.checks import prepare
from pytest_dra.wire.answers import NodeReply
from tests.checks.answers import SERIAL
from tests.checks.answers import UID
from tests.checks.answers import answered
from tests.checks.answers import broken
from tests.checks.answers import device
from tests.checks.answers import entries
from tests.checks.answers import refused
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said

WHAT = "Prepare of a claim"
NEW = {("node-a", "gpu-1")}
PROOF = (SERIAL,)
WORDS = ("pod", "group")

NAMES = {"claim": ("claim-a", UID), "device": ("gpu-9",)}

EMPTY = entries({})
LATE = dataclasses.replace(EMPTY, duration_s=1.5)


def _agree(*replies: NodeReply) -> None:
    prepare.simultaneous_must_agree(replies, UID, what=WHAT)


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(
            lambda: prepare.must_be_refused_soon(
                refused("only one Pod at a time"), UID, within_s=5, what=WHAT, words=WORDS
            ),
            id="a refusal that says why, whatever its capitals",
        ),
        pytest.param(
            lambda: prepare.must_be_refused_soon(
                broken(details="no groups"), UID, within_s=5, what=WHAT, words=WORDS
            ),
            id="a refusal of the whole call",
        ),
        pytest.param(
            lambda: prepare.error_must_name(
                refused(f"claim {UID}: no gpu-9"), UID, names=NAMES, what=WHAT
            ),
            id="an error that names claim and device",
        ),
        pytest.param(
            lambda: prepare.error_must_name(answered(device()), UID, names=NAMES, what=WHAT),
            id="no error has nothing to name",
        ),
        pytest.param(
            lambda: prepare.must_be_empty([LATE, EMPTY, LATE], within_s=1.0, method="M"),
            id="one answer in time is enough",
        ),
        pytest.param(
            lambda: prepare.the_claim_must_have_been_read(
                answered(device("gpu-1")), UID, new=NEW, reads=0, what=WHAT
            ),
            id="a driver that returns the new device knows it without a request",
        ),
        pytest.param(
            lambda: prepare.the_claim_must_have_been_read(
                answered(device("gpu-0")), UID, new=NEW, reads=1, what=WHAT
            ),
            id="an old device after a fresh read is another case's matter",
        ),
        pytest.param(
            lambda: prepare.the_claim_must_have_been_read(
                answered(), UID, new=NEW, reads=0, what=WHAT
            ),
            id="a driver that returns no devices may watch",
        ),
        pytest.param(
            lambda: prepare.must_not_serve_the_old(refused("changed"), UID, new=NEW, what=WHAT),
            id="a changed allocation is refused",
        ),
        pytest.param(
            lambda: prepare.must_not_serve_the_old(
                answered(device("gpu-1", pool="")), UID, new=NEW, what=WHAT
            ),
            id="a changed allocation is served anew",
        ),
        pytest.param(
            lambda: prepare.must_not_serve_the_old(answered(), UID, new=NEW, what=WHAT),
            id="a driver that returns no devices serves none of the old",
        ),
        pytest.param(
            lambda: _agree(refused("busy"), answered(device(ids=("i",)))),
            id="one of two simultaneous calls is enough",
        ),
        pytest.param(
            lambda: _agree(answered(device(ids=("i", "j"))), answered(device(ids=("j", "i")))),
            id="two simultaneous calls agree in any order",
        ),
    ],
)
def test_what_is_right_is_let_pass(judgement: Judgement) -> None:
    assert said(judgement) is None


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        pytest.param(
            lambda: prepare.must_be_refused_soon(
                answered(device()), UID, within_s=5, what=WHAT, words=WORDS
            ),
            Said(
                WHAT, "OK with devices ['gpu-0']", "an error for the claim or for the call", PROOF
            ),
            id="served",
        ),
        pytest.param(
            lambda: prepare.must_be_refused_soon(
                broken(details="a pod", after_s=6.04), UID, within_s=5, what=WHAT, words=WORDS
            ),
            Said(WHAT, "an error after 6.0 s", "an error within 5 s", PROOF),
            id="refused late",
        ),
        pytest.param(
            lambda: prepare.must_be_refused_soon(
                refused("no"), UID, within_s=5, what=WHAT, words=WORDS
            ),
            Said(WHAT, "no", "an error that says why: with one of the words group, pod", PROOF),
            id="refused without a reason",
        ),
        pytest.param(
            lambda: prepare.must_be_empty([EMPTY, broken("UNKNOWN")], within_s=1.0, method="M"),
            Said("M without claims", "UNKNOWN: boom", "OK without entries", PROOF),
            id="an error for nothing",
        ),
        pytest.param(
            lambda: prepare.must_be_empty([answered()], within_s=1.0, method="M"),
            Said("M without claims", "OK with 1 entries", "OK without entries", PROOF),
            id="an entry for nothing",
        ),
        pytest.param(
            lambda: prepare.must_be_empty([LATE, LATE], within_s=1.0, method="M"),
            Said(
                "M without claims, 2 times",
                "no answer before 1.5 s",
                "an answer within 1 s",
                (SERIAL, SERIAL),
            ),
            id="always late",
        ),
        pytest.param(
            lambda: prepare.the_claim_must_have_been_read(
                answered(device("gpu-0")), UID, new=NEW, reads=0, what=WHAT
            ),
            Said(
                WHAT,
                "[('node-a', 'gpu-0')], and the driver has not read the claim since",
                "the claim is read again: it has [('node-a', 'gpu-1')] now",
                PROOF,
            ),
            id="an old device without a read",
        ),
        pytest.param(
            lambda: prepare.must_not_serve_the_old(
                answered(device("gpu-0")), UID, new=NEW, what=WHAT
            ),
            Said(
                WHAT,
                "OK with [('node-a', 'gpu-0')]",
                "an error, or exactly [('node-a', 'gpu-1')]",
                PROOF,
            ),
            id="the old device",
        ),
        pytest.param(
            lambda: prepare.error_must_name(refused("no gpu-9"), UID, names=NAMES, what=WHAT),
            Said(
                f"error of {WHAT}",
                "no gpu-9",
                f"a text that names the claim: claim-a or {UID}",
                PROOF,
            ),
            id="an error without the claim",
        ),
        pytest.param(
            lambda: _agree(refused("busy"), broken()),
            Said(WHAT, "busy; INTERNAL: boom", "at least one OK", (SERIAL, SERIAL)),
            id="no simultaneous call succeeds",
        ),
        pytest.param(
            lambda: _agree(answered(device(ids=("i",))), answered(device(ids=("j",)))),
            Said(
                WHAT,
                [("node-a", "gpu-0", ("req-0",), ("j",))],
                "the other's answer: [('node-a', 'gpu-0', ('req-0',), ('i',))]",
                (SERIAL, SERIAL),
            ),
            id="simultaneous calls differ",
        ),
    ],
)
def test_what_is_wrong_is_told(judgement: Judgement, expected: Said) -> None:
    assert said(judgement) == expected


def test_any_answer_is_one_and_a_missing_one_is_not() -> None:
    assert said(lambda: prepare.must_be_answered(broken(), what=WHAT)) is None
    assert said(lambda: prepare.must_be_answered(refused("no"), what=WHAT)) is None
    given_up = broken("DEADLINE_EXCEEDED", after_s=3.0)
    assert said(lambda: prepare.must_be_answered(given_up, what=WHAT)) is None
    late = broken("DEADLINE_EXCEEDED", after_s=45.0)
    assert said(lambda: prepare.must_be_answered(late, what=WHAT)) == Said(
        WHAT, "no answer in 45 s", "an answer within 45 s, be it an error", PROOF
    )
