"""Small checks of attributes and capacities, in what the driver has sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

ENTRIES_MAX = 32
SOON_S = 1.5
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SEMVER = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def sent(rig: Rig) -> list[dict[str, Any]]:
    """The specs of all slices that were sent."""
    return [body["spec"] for method, body in rig.store.writes if method in ("POST", "PUT")]


def devices(rig: Rig) -> list[dict[str, Any]]:
    """All devices that were sent."""
    return [device for spec in sent(rig) for device in spec.get("devices") or []]


def _attributes(rig: Rig) -> Iterator[tuple[str, dict[str, Any]]]:
    for device in devices(rig):
        yield from device["attributes"].items()


@check("ATTR-001")
def _(rig: Rig) -> None:
    assert all(len(value) == 1 for _, value in _attributes(rig))


@check("ATTR-002")
def _(rig: Rig) -> None:
    assert all(IDENTIFIER.fullmatch(name.rpartition("/")[2]) for name, _ in _attributes(rig))


@check("ATTR-003")
def _(rig: Rig) -> None:
    for device in devices(rig):
        assert len(device["attributes"]) + len(device.get("capacity") or {}) <= ENTRIES_MAX


@check("ATTR-004")
def _(rig: Rig) -> None:
    assert all(SEMVER.fullmatch(value.get("version", "0.0.0")) for _, value in _attributes(rig))


@check("ATTR-005")
def _(rig: Rig) -> None:
    assert all("int" in value for name, value in _attributes(rig) if name == "index")


@check("ATTR-006")
def _(rig: Rig) -> None:
    gpus = [device for device in devices(rig) if device["name"].startswith("gpu-")]
    assert all("uuid" in device["attributes"] for device in gpus)


@check("ATTR-008")
def _(rig: Rig) -> None:
    roots = [value for name, value in _attributes(rig) if name.endswith("/pcieRoot")]
    assert all(root["string"].startswith("pci") for root in roots)


@check("ATTR-010")
def _(rig: Rig) -> None:
    assert all("driverVersion" in device["attributes"] for device in devices(rig))


@check("ATTR-012")
def _(rig: Rig) -> None:
    for device in devices(rig):
        for value in (device.get("capacity") or {}).values():
            assert not value["value"].startswith("-")


@check("ATTR-014")
def _(rig: Rig) -> None:
    assert all(name.count("/") < 2 for name, _ in _attributes(rig))


@check("ATTR-007")
def _(rig: Rig) -> None:
    for device in devices(rig):
        names = [name.removeprefix(f"{DRIVER}/") for name in device["attributes"]]
        assert len(names) == len(set(names))


@check("ATTR-011")
def _(rig: Rig) -> None:
    assert rig.driver is not None
    kinds = [
        result(pool.devices[0]["name"], pool=pool.name)
        for pool in rig.driver.preparer.inventory.pools
        if pool.name.endswith("tally")
    ]
    claims = [rig.claim(each) for each in (result("gpu-0"), result("nic-0"), *kinds)]
    for claim in claims:
        good(rig, claim)

    def less() -> bool:
        return any(
            (device.get("capacity") or {}).get("memory", {}).get("value") == "0"
            for device in devices(rig)
        )

    found = bool(kinds) and rig.wait(less, SOON_S)
    freed(rig, *claims)
    assert not found
