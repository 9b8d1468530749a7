"""Declared features and what a run has shown of them."""

from __future__ import annotations

from pytest_dra.checks import features
from tests.checks.raising import Said
from tests.checks.raising import said

DECLARED = {"DeviceTaints": "a taint in a slice", "DeviceStatus": "a status write"}


def test_declared_features_that_were_seen_are_let_pass() -> None:
    seen = ["DeviceStatus", "DeviceTaints", "NetworkAttached"]
    assert said(lambda: features.declared_must_be_seen(DECLARED, seen)) is None
    assert said(lambda: features.declared_must_be_seen({}, [])) is None


def test_declared_features_without_a_sign_are_named_with_what_was_looked_for() -> None:
    assert said(lambda: features.declared_must_be_seen(DECLARED, ["CDIInjection"])) == Said(
        "features of the profile",
        "declared and never seen: DeviceStatus, DeviceTaints",
        "DeviceStatus: a status write; DeviceTaints: a taint in a slice",
    )


def test_what_was_seen_and_not_declared_is_a_warning() -> None:
    seen = {"DeviceTaints": "taints of a device", "CDIInjection": "CDI ids"}
    assert features.undeclared(seen, ["CDIInjection"]) == (
        "seen and not declared, so that their cases are provisional: "
        "DeviceTaints (taints of a device)"
    )
    assert features.undeclared(seen, seen) == ""
