"""Small checks of alternatives, admin access and shared claims."""

from __future__ import annotations

from typing import Any

from tests.fake_driver.memory_api import LABELLED
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import config_of
from tests.fake_driver.small_checks import error_beside
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

LATER_S = 0.6
"""What watches a claim has looked twice by then."""


def _chosen(rig: Rig, *, config: list[Any] | None = None) -> Claim:
    """A claim with the first of two alternatives."""
    claim = rig.claim(result("gpu-0", "gpu/big"), config=config)
    stored = rig.stored(claim)
    stored["spec"] = {"devices": {"requests": [{"name": "gpu"}]}}
    return claim


def _admin(rig: Rig, *devices: str) -> Claim:
    return rig.claim(*(result(name, adminAccess=True) for name in devices))


def _variables(rig: Rig, entry: Any) -> list[str]:
    found = [rig.edits(id) or {} for device in entry.devices for id in device.cdi_device_ids]
    return [variable for edits in found for variable in edits.get("env") or ()]


@check("PRIO-001")
def _(rig: Rig) -> None:
    claim = _chosen(rig)
    good(rig, claim)
    freed(rig, claim)


@check("PRIO-002")
def _(rig: Rig) -> None:
    claim = _chosen(rig)
    entry = good(rig, claim)
    freed(rig, claim)
    assert {name for device in entry.devices for name in device.request_names} <= {"gpu"}


@check("PRIO-003")
def _(rig: Rig) -> None:
    labels = {"gpu": "one", "gpu/big": "two", "gpu/small": "three"}
    config = [config_of(name, label=label) for name, label in labels.items()]
    claim = _chosen(rig, config=config)
    variables = _variables(rig, good(rig, claim))
    freed(rig, claim)
    assert not variables or any(one.endswith("_LABEL=two") for one in variables)


@check("ADM-001")
def _(rig: Rig) -> None:
    user, admin = rig.claim(result("gpu-0")), _admin(rig, "gpu-0")
    assert error_beside(rig, user, admin) == ""


@check("ADM-002")
def _(rig: Rig) -> None:
    user, admin = rig.claim(result("gpu-0")), _admin(rig, "gpu-0")
    entry = good(rig, user)
    good(rig, admin)
    before = rig.resolves(entry)
    freed(rig, admin)
    kept = rig.resolves(entry)
    freed(rig, user)
    assert kept == before


@check("ADM-003")
def _(rig: Rig) -> None:
    user, admin = rig.claim(result("gpu-0")), _admin(rig, "gpu-0")
    assert error_beside(rig, admin, user) == ""


@check("ADM-004")
def _(rig: Rig) -> None:
    for claim, wanted in (
        (rig.claim(result("gpu-0")), False),
        (_admin(rig, "gpu-0"), True),
        (rig.claim(result("gpu-0"), namespace=LABELLED), False),
    ):
        entry = good(rig, claim)
        variables = _variables(rig, entry)
        freed(rig, claim)
        assert not variables or any("_ADMIN=" in one for one in variables) is wanted


@check("ADM-005")
def _(rig: Rig) -> None:
    claim = _admin(rig, "gpu-0", "gpu-1")
    entry = good(rig, claim)
    freed(rig, claim)
    assert {device.device_name for device in entry.devices} == {"gpu-0", "gpu-1"}


@check("SHARE-005")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    stored = rig.stored(claim)
    stored["status"]["reservedFor"] = [{"resource": "pods"}] * 2
    entry = good(rig, claim)
    before = rig.resolves(entry)
    rig.wait(lambda: rig.resolves(entry) != before, LATER_S / 2)
    stored["status"]["reservedFor"] = [{"resource": "pods"}]
    changed = rig.wait(lambda: rig.resolves(entry) != before, LATER_S)
    freed(rig, claim)
    assert not changed
