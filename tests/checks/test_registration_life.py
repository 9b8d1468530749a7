"""Judgements of refused registrations, names, socket paths and the end of a driver."""

from __future__ import annotations

import pytest

from pytest_dra.checks import registration
from pytest_dra.checks import slices
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said
from tests.checks.test_registration import BETA
from tests.checks.test_registration import V1
from tests.checks.test_registration import ended
from tests.checks.test_registration import getinfo
from tests.checks.test_registration import info

REFUSED = "after NotifyRegistrationStatus(plugin_registered=false)"
ORDER = "v1.DRAPlugin before v1beta1.DRAPlugin: the kubelet takes the first one that it knows"
LIVES = "a driver that lives on and answers GetInfo: the kubelet will try again"
LONGEST = "sockets whose paths have at most 108 bytes, or an exit with a message"


def longest(*, registered: bool = False, ended: bool = False, output: str = "") -> Judgement:
    """The judgement of a start under the name ``long``."""
    return lambda: registration.longest_names_must_work(
        registered=registered, ended=ended, output=output, name="long"
    )


def back(*, registered: bool = True, missing: int = 0, got: str = "") -> Judgement:
    """The judgement of a start without API server."""
    lost = {("node-a", f"gpu-{number}") for number in range(missing)}
    return lambda: slices.driver_must_be_back(
        registered=registered, missing=lost, got=got, within_s=60
    )


@pytest.mark.parametrize(
    "judgement",
    [
        *(
            pytest.param(
                lambda versions=versions: registration.newer_versions_must_come_first(
                    info(versions=versions)
                ),
                id=f"order-{'-'.join(versions)}",
            )
            for versions in ((V1, BETA), (V1,), (BETA,), ("v2.Other", V1, "x", BETA), ())
        ),
        pytest.param(
            lambda: registration.name_must_be_in_a_domain("gpu.example.com", where="x"), id="name"
        ),
        pytest.param(
            lambda: registration.refusal_must_be_answered(ended("UNKNOWN", "no"), limit_s=5),
            id="refusal-answered-with-an-error",
        ),
        pytest.param(
            lambda: registration.refusal_must_be_survived(info(), info(), ended=False, got=""),
            id="survived",
        ),
        pytest.param(
            lambda: registration.socket_paths_must_fit({"/a": 108, "/b": 2}), id="short-paths"
        ),
        pytest.param(longest(registered=True), id="registered"),
        pytest.param(longest(ended=True, output="path too long\n"), id="ended-with-a-message"),
        pytest.param(
            lambda: registration.sockets_must_be_removed([], in_time=True, within_s=30), id="gone"
        ),
        pytest.param(back(), id="back"),
    ],
)
def test_a_good_driver_is_told_nothing(judgement: Judgement) -> None:
    assert said(judgement) is None


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        pytest.param(
            lambda: registration.newer_versions_must_come_first(info(versions=(BETA, V1))),
            Said("GetInfo.supported_versions", [BETA, V1], ORDER),
            id="beta-first",
        ),
        *(
            pytest.param(
                lambda name=name: registration.name_must_be_in_a_domain(name, where="GetInfo.name"),
                Said("GetInfo.name", name, "lower case, below a domain of the vendor"),
                id=name,
            )
            for name in ("Gpu.example.com", "gpu")
        ),
        pytest.param(
            lambda: registration.refusal_must_be_answered(
                ended("DEADLINE_EXCEEDED", after_s=5.0), limit_s=5
            ),
            Said(
                "NotifyRegistrationStatus(plugin_registered=false)",
                "no answer in 5.00 s",
                "any answer within 5 s",
                (5,),
            ),
            id="refusal-not-answered",
        ),
        pytest.param(
            lambda: registration.refusal_must_be_survived(info(), None, ended=False, got="EOF"),
            Said(REFUSED, "EOF", LIVES),
            id="mute-after-refusal",
        ),
        pytest.param(
            lambda: registration.refusal_must_be_survived(info(), info(), ended=True, got="exit 1"),
            Said(REFUSED, "exit 1", LIVES),
            id="ended-after-refusal",
        ),
        pytest.param(
            lambda: registration.refusal_must_be_survived(
                info(), info(name="b.example.com"), ended=False, got=""
            ),
            Said(
                "GetInfo after NotifyRegistrationStatus(plugin_registered=false)",
                info(name="b.example.com"),
                f"what it answered before: {info()}",
            ),
            id="another-answer-after-refusal",
        ),
        pytest.param(
            lambda: registration.get_info_must_answer(
                getinfo("UNAVAILABLE", after_s=0.1, serial=9), what="the second instance"
            ),
            Said("GetInfo of the second instance", "UNAVAILABLE: ", "an answer", (9,)),
            id="mute-instance",
        ),
        pytest.param(
            lambda: registration.socket_paths_must_fit({"/long": 109}),
            Said("socket path /long", "109 bytes", "at most 108 bytes"),
            id="long-path",
        ),
        pytest.param(
            longest(),
            Said(
                "start as long with a pod uid of 36 characters",
                "the driver does not register",
                LONGEST,
            ),
            id="never-registers",
        ),
        pytest.param(
            longest(ended=True),
            Said(
                "start as long with a pod uid of 36 characters",
                "the driver has ended without a word",
                LONGEST,
            ),
            id="ends-silently",
        ),
        pytest.param(
            lambda: registration.sockets_must_be_removed([], in_time=False, within_s=30),
            Said("SIGTERM", "the driver runs after 30 s", "it ends before"),
            id="ignores-sigterm",
        ),
        pytest.param(
            lambda: registration.sockets_must_be_removed(
                ["/r/b", "/r/a"], in_time=True, within_s=30
            ),
            Said(
                "after SIGTERM",
                "left: /r/a, /r/b",
                "no socket of the driver: its removal is the only de-registration",
            ),
            id="sockets-left",
        ),
        pytest.param(
            lambda: registration.removal_must_be_noticed("a.sock", noticed=False, within_s=60),
            Said(
                "registration socket a.sock, deleted by somebody",
                "the driver serves on and cannot be found, 60 s later",
                "a new socket that accepts connections, or an exit, so that it is started again",
            ),
            id="wiped",
        ),
        *(
            pytest.param(
                judgement,
                Said(
                    "start while the API server was down",
                    got,
                    "registered and published within 60 s after it was back",
                ),
                id=got,
            )
            for judgement, got in (
                (back(registered=False, missing=1), "not registered"),
                (back(missing=2), "2 devices are not published"),
                (back(registered=False, got="exit 2"), "exit 2"),
            )
        ),
    ],
)
def test_a_bad_driver_is_told_with_place_value_and_wish(
    judgement: Judgement, expected: Said
) -> None:
    assert said(judgement) == expected
