"""Small checks of what is published over time; the larger ones run drivers of their own."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.publisher import Publisher
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Rig
from tests.fake_driver.small_checks import check

OTHER = "other.example.com"
SOON_S = 1.5
SPECIAL_MAX = 64


def _own(rig: Rig) -> list[dict[str, Any]]:
    if not rig.wait(lambda: rig.store.of(DRIVER), 0.3):
        rig.kill_and_start()  # an earlier check has left none to a driver that does not react
        assert rig.wait(lambda: rig.store.of(DRIVER), 2.0)
    return rig.store.of(DRIVER)


def _sent(rig: Rig) -> list[dict[str, Any]]:
    return [body for method, body in rig.store.writes if method in ("POST", "PUT")]


def _contents(items: list[dict[str, Any]]) -> list[Any]:
    return sorted(
        (
            [device["name"] for device in item["spec"].get("devices", [])],
            item["spec"]["pool"]["name"],
        )
        for item in items
    )


@contextlib.contextmanager
def _beside(rig: Rig, **options: Any) -> Iterator[Any]:
    """The parts of a second publisher on the same store, not running."""
    chosen = dataclasses.replace(rig.options, **options)
    inventory = rig.parts.inventories(chosen).load()
    slices = rig.parts.slices(chosen, inventory)
    made = rig.parts.publisher(chosen, rig.parts.api(None), slices)
    try:
        yield made
    finally:
        made.stopping.set()


def _publish(publisher: Publisher) -> None:
    with publisher.lock:
        publisher.list_slices()
        publisher.find_owner()
        publisher.repair()


@check("SLICE-004")
def _(rig: Rig) -> None:
    for item in rig.store.of(DRIVER):
        owners = item["metadata"].get("ownerReferences") or []
        mine = item["spec"].get("nodeName") == NODE
        assert not mine or [owner["name"] for owner in owners] == [NODE]


@check("SLICE-006")
def _(rig: Rig) -> None:
    with _beside(rig, node_name="node-b") as other:
        there = {pool for _, pool in other.wanted}
    shared = {
        item["spec"]["pool"]["name"] for item in _own(rig) if item["spec"].get("nodeName") == NODE
    }
    assert not shared & there


@check("SLICE-009")
def _(rig: Rig) -> None:
    for body in _sent(rig):
        devices = body["spec"].get("devices", [])
        assert len(devices) <= SPECIAL_MAX or not any(d.get("taints") for d in devices)


def _many(rig: Rig) -> Any:
    """A publisher of 130 devices on a node of its own, which has published."""
    return _beside(rig, node_name="node-m", devices=130)


def _unplug(rig: Rig, publisher: Publisher) -> tuple[list[Any], list[Any]]:
    """Publish, take a device out; the pool before, and what was written then."""
    _publish(publisher)
    pool = next(iter(publisher.wanted))[1]
    before = [
        item
        for item in rig.store.of(DRIVER)
        if item["spec"]["pool"]["name"] == pool and item["spec"].get("nodeName") == "node-m"
    ]
    inventory = publisher.slices.inventory
    count = len(rig.store.writes)
    publisher.change(inventory.without_first())
    writes = [
        (method, body)
        for method, body in rig.store.writes[count:]
        if method != "DELETE" and body["spec"]["pool"]["name"] == pool
    ]
    return before, writes


@check("SLICE-010")
def _(rig: Rig) -> None:
    with _many(rig) as publisher:
        try:
            before, writes = _unplug(rig, publisher)
            highest = max(item["spec"]["pool"]["generation"] for item in before)
            names = [body["metadata"]["name"] for method, body in writes if method == "PUT"]
            assert len(names) == len(set(names))
            assert all(body["spec"]["pool"]["generation"] > highest for _, body in writes)
        finally:
            rig.store.wipe("node-m")


@check("SLICE-026")
def _(rig: Rig) -> None:
    with _many(rig) as publisher:
        try:
            before, writes = _unplug(rig, publisher)
            highest = max(item["spec"]["pool"]["generation"] for item in before)
            assert min(body["spec"]["pool"]["generation"] for _, body in writes) > highest
        finally:
            rig.store.wipe("node-m")


@check("SLICE-011")
def _(rig: Rig) -> None:
    old = copy.deepcopy(_own(rig)[0])
    old["metadata"] = {"name": "left-over", "uid": "left-over"}
    old["spec"]["pool"]["generation"] -= 1
    rig.store.put(old)
    gone = rig.wait(lambda: "left-over" not in rig.store.slices, SOON_S)
    if not gone:
        rig.store.delete("left-over")
    assert gone


@check("SLICE-013")
def _(rig: Rig) -> None:
    edited = copy.deepcopy(_own(rig)[0])
    name, good = edited["metadata"]["name"], copy.deepcopy(edited["spec"])
    edited["spec"]["devices"][0]["attributes"]["edited"] = {"bool": True}
    rig.store.put(edited)
    reverted = rig.wait(lambda: rig.store.slices[name]["spec"] == good, SOON_S)
    if not reverted:
        rig.store.put({**edited, "spec": good})
    assert reverted


@check("SLICE-014")
def _(rig: Rig) -> None:
    count = len(rig.store.writes)
    assert not rig.wait(lambda: len(rig.store.writes) > count, 0.3)


@check("SLICE-015")
def _(rig: Rig) -> None:
    before = {device for names, _ in _contents(_own(rig)) for device in names}
    with _beside(rig) as again:
        after = {
            d["name"] for p in again.wanted.values() for s in p.specs for d in s.get("devices", [])
        }
    assert before <= after


@check("SLICE-016")
def _(rig: Rig) -> None:
    before = [entry for entry in _contents(_own(rig)) if not entry[1].endswith("-extra")]
    with _beside(rig) as again:
        after = sorted(
            ([device["name"] for device in spec.get("devices", [])], spec["pool"]["name"])
            for pool in again.wanted.values()
            for spec in pool.specs
        )
    assert [entry for entry in after if entry in before] == before


@check("SLICE-017")
def _(rig: Rig) -> None:
    item = {"metadata": {"name": "foreign", "uid": "foreign"}, "spec": {"driver": OTHER}}
    rig.store.put({**item, "spec": {**item["spec"], "nodeName": NODE, "pool": {"name": "x"}}})
    with _beside(rig) as again:
        again.stopping.set()
        again.run()
    there = "foreign" in rig.store.slices
    if there:
        rig.store.delete("foreign")
    assert there


@check("SLICE-018")
def _(rig: Rig) -> None:
    try:
        with _beside(rig, node_name="node-e", devices=0):
            pass
    except ValueError as error:
        raise AssertionError(str(error)) from error


@check("SLICE-019")
def _(rig: Rig) -> None:
    with _beside(rig) as again:
        again.stopping.set()
        assert again.after(ApiError(409, "conflict"), 0.1) < SOON_S
        gives_up = type(again).after is not Publisher.after
    assert not gives_up


@check("SLICE-020")
def _(rig: Rig) -> None:
    with _beside(rig) as again:
        spec = next(iter(again.wanted.values())).specs[0]
        stored = {"metadata": {"name": "stored"}, "spec": copy.deepcopy(spec)}
        del stored["spec"]["devices"][0]["attributes"]
        again.written(spec, stored)
        assert again.is_right(stored, spec)


@check("SLICE-021")
def _(rig: Rig) -> None:
    assert all("allNodes" not in body["spec"] or "nodeName" in body["spec"] for body in _sent(rig))


@check("SLICE-022")
def _(rig: Rig) -> None:
    assert not rig.store.unserved


@check("SLICE-023")
def _(rig: Rig) -> None:
    names = {item["metadata"]["name"]: item["spec"]["pool"]["name"] for item in _own(rig)}
    count = len(rig.store.writes)
    with _beside(rig) as again:
        _publish(again)
    for method, body in rig.store.writes[count:]:
        if method == "PUT":
            name = body["metadata"]["name"]
            assert names.get(name) == body["spec"]["pool"]["name"]


@check("SLICE-024")
def _(rig: Rig) -> None:
    assert all("perDeviceNodeSelection" not in body["spec"] for body in _sent(rig))


@check("SLICE-025")
def _(rig: Rig) -> None:
    assert all("skipNodeOperations" not in body["spec"] for body in _sent(rig))


@check("SLICE-027")
def _(rig: Rig) -> None:
    assert all(body["spec"]["pool"]["generation"] >= 0 for body in _sent(rig))
