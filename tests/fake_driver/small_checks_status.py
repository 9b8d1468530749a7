"""Small checks of the status of devices in claims."""

from __future__ import annotations

from typing import Any

from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good
from tests.fake_driver.small_checks_shares import on_features

SOON_S = 2.0
DECOY = {"driver": "decoy.example.com", "pool": "p", "device": "d"}


def _status(rig: Rig, claim: Claim) -> dict[str, Any]:
    found: dict[str, Any] = rig.stored(claim)["status"]
    return found


def _entries(rig: Rig, claim: Claim) -> list[dict[str, Any]]:
    """The entries of a prepared claim, once there are some of the driver's."""
    good(rig, claim)

    def mine() -> list[Any]:
        entries = _status(rig, claim).get("devices") or []
        return [each for each in entries if each["driver"] == DRIVER]

    rig.wait(mine, SOON_S)
    return list(_status(rig, claim).get("devices") or [])


@on_features("STAT-001")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    found = _entries(rig, claim)
    freed(rig, claim)
    assert {each["device"] for each in found} == {"gpu-0"}


@on_features("STAT-002")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    _status(rig, claim)["devices"] = [DECOY]
    found = _entries(rig, claim)
    freed(rig, claim)
    assert DECOY in found


@on_features("STAT-003")
def _(rig: Rig) -> None:
    claim = rig.claim(result("port-0", pool=f"{NODE}-status"))
    found = _entries(rig, claim)
    freed(rig, claim)
    assert all("/" in ip for each in found for ip in each["networkData"]["ips"])


@check("STAT-005")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    _status(rig, claim)["reservedFor"] = [{"name": "pod"}]
    good(rig, claim)
    freed(rig, claim)
    assert _status(rig, claim)["reservedFor"]


@on_features("STAT-006")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    rig.store.refused = 409
    rig.prepare(claim)
    rig.store.refused = 0
    error = rig.prepare(claim).error
    freed(rig, claim)
    assert error == ""


@on_features("STAT-007")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    _entries(rig, claim)
    freed(rig, claim)
    assert rig.wait(lambda: "True" not in str(_status(rig, claim).get("devices")), SOON_S)
