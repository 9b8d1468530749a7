"""Small checks of opaque configuration."""

from __future__ import annotations

from typing import Any

import grpc

from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import config_of
from tests.fake_driver.small_checks import error_beside
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good
from tests.fake_driver.small_checks_shares import a_share
from tests.fake_driver.small_checks_shares import on_features


def _error(rig: Rig, *config: dict[str, Any]) -> str:
    """The error of a claim with this configuration."""
    claim = rig.claim(result("gpu-0"), config=list(config))
    try:
        found = str(rig.prepare(claim).error)
    except grpc.RpcError as error:
        found = str(error)
    freed(rig, claim)
    return found


def _labels(rig: Rig, devices: int, *config: dict[str, Any]) -> list[str]:
    """The labels of the devices of a claim with one device for each request, sorted by device."""
    results = [result(f"gpu-{n}", f"req{n}") for n in range(devices)]
    claim = rig.claim(*results, config=list(config))
    prepared = good(rig, claim)
    found = [
        (name, variable.partition("_LABEL=")[2])
        for name, ids in sorted((one.device_name, one.cdi_device_ids) for one in prepared.devices)
        for id in ids
        for variable in (rig.edits(id) or {}).get("env") or ()
        if "_LABEL=" in variable
    ]
    freed(rig, claim)
    return [label for _, label in found]


@check("CONF-001")
def _(rig: Rig) -> None:
    assert _error(rig) == ""


@check("CONF-002")
def _(rig: Rig) -> None:
    assert _error(rig, config_of(driver="decoy.example.com", label=7)) == ""


@check("CONF-003")
def _(rig: Rig) -> None:
    assert _error(rig, config_of(label=7))


@check("CONF-004")
def _(rig: Rig) -> None:
    assert not _error(rig, config_of(label=7)) or "other" in _error(rig, config_of(other=1))


@check("CONF-005")
def _(rig: Rig) -> None:
    of_class = config_of(label="one", source="FromClass")
    found = _labels(rig, 1, of_class, config_of(label="two"))
    assert found in (["two"], [])


@check("CONF-006")
def _(rig: Rig) -> None:
    found = _labels(rig, 2, *(config_of(f"req{n}", label="ab"[n]) for n in range(2)))
    assert found in (["a", "b"], [])


@on_features("CONF-008")
def _(rig: Rig) -> None:
    one, other = (
        rig.claim(a_share(), config=[config_of(mode=mode)]) for mode in ("exclusive", "shared")
    )
    assert error_beside(rig, one, other)
