"""What is set for devices, and what is said of configurations that cannot be read."""

from __future__ import annotations

import pytest

from pytest_dra.checks import settings
from pytest_dra.wire.answers import NodeReply
from tests.checks.answers import SERIAL
from tests.checks.answers import UID
from tests.checks.answers import answered
from tests.checks.answers import device
from tests.checks.answers import refused
from tests.checks.raising import Said
from tests.checks.raising import said

ALONE = {"gpu": "one", "gpu/big": "two", "gpu/small": "three"}
WANT = "that of gpu/big"
WHAT = "Prepare of a claim"
NAMED = "a text that names the configuration: GpuConfig, config, opaque, param"


def _setting(seen: str) -> Said | None:
    return said(
        lambda: settings.setting_must_be(
            seen, wanted="two", others=ALONE, what="a claim", want=WANT
        )
    )


def test_the_right_setting_is_let_pass() -> None:
    assert _setting("two") is None


def test_a_setting_of_another_configuration_is_called_by_its_name() -> None:
    assert _setting("three") == Said("setting of a claim", "that of gpu/small", WANT)


def test_a_setting_of_none_of_them_is_shown_as_far_as_it_goes() -> None:
    assert _setting("x" * 1000) == Said("setting of a claim", "x" * 200, WANT)


def _refusal(reply: NodeReply) -> Said | None:
    return said(
        lambda: settings.refusal_must_name_the_configuration(
            reply, UID, words=["GpuConfig"], what=WHAT
        )
    )


@pytest.mark.parametrize(
    "text",
    ["bad Configuration", "cannot decode parameters", "no kind gpuconfig is registered"],
)
def test_a_refusal_that_names_the_configuration_is_let_pass(text: str) -> None:
    assert _refusal(refused(text)) is None


def test_a_refusal_that_does_not_is_told() -> None:
    found = _refusal(refused("internal error"))
    assert found == Said(f"error of {WHAT}", "internal error", NAMED, (SERIAL,))


def test_a_bad_configuration_that_is_accepted_is_told() -> None:
    found = _refusal(answered(device("gpu-0")))
    want = "an error for the claim or for the call"
    assert found == Said(WHAT, "OK with devices ['gpu-0']", want, (SERIAL,))
