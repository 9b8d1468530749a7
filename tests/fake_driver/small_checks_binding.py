"""Small checks of devices that are attached before they are bound: the binder alone, stepwise."""

from __future__ import annotations

from typing import Any

from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks_shares import on_features

POOL = f"{NODE}-conditions"
BOTH = ["attached", "configured"]


def _result(device: str, request: str = "req0") -> dict[str, Any]:
    lists = {"bindingConditions": BOTH, "bindingFailureConditions": ["failed"]}
    return result(device, request, pool=POOL, **lists)


def _seen(rig: Rig, claim: Claim) -> dict[str, dict[str, str]]:
    """The conditions of a claim by device, once the binder has done all for it that it does."""
    assert rig.driver is not None
    binder, stored = rig.driver.binder, rig.stored(claim)
    for each in binder.waiting(stored):
        binder.attach(stored, each)
    return _told(rig, claim)


def _told(rig: Rig, claim: Claim) -> dict[str, dict[str, str]]:
    status = rig.stored(claim)["status"]
    return {
        entry["device"]: {each["type"]: each["status"] for each in entry["conditions"]}
        for entry in status.get("devices") or []
    }


@on_features("BIND-002")
def _(rig: Rig) -> None:
    claim = rig.claim(_result("attached-0"))
    assert _seen(rig, claim) == {"attached-0": dict.fromkeys(BOTH, "True")}


@on_features("BIND-003")
def _(rig: Rig) -> None:
    claim = rig.claim(_result("attached-0"))
    faulty = rig.options.data_dir / "faulty-attached-0"
    faulty.touch()
    found = _seen(rig, claim)
    faulty.unlink()
    assert found["attached-0"].get("failed") == "True"


@on_features("BIND-004")
def _(rig: Rig) -> None:
    claim = rig.claim(_result("attached-0"), _result("attached-1", "req1"))
    assert set(_seen(rig, claim)) == {"attached-0", "attached-1"}


@on_features("BIND-005")
def _(rig: Rig) -> None:
    claim = rig.claim(_result("attached-0"))
    _seen(rig, claim)
    rig.allocate(claim, _result("attached-1"))
    assert rig.driver is not None
    binder, told = rig.driver.binder, []
    write = binder.write

    def noting(meta: Any, of: Any, conditions: Any) -> None:
        told.append({each["status"] for each in conditions})
        write(meta, of, conditions)

    binder.__dict__["write"] = noting
    try:
        _seen(rig, claim)
    finally:
        del binder.__dict__["write"]
    assert told[0] == {"False"}


@on_features("BIND-006")
def _(rig: Rig) -> None:
    claim = rig.claim(_result("attached-0"))
    assert rig.driver is not None
    rig.driver.binder.look(rig.stored(claim))
    met = {"attached-0": dict.fromkeys(BOTH, "True")}
    assert rig.wait(lambda: _told(rig, claim) == met, 2.0)
