"""Small checks of what several claims have of one device, and of faulty devices."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from pytest_dra.fake_driver import slices
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import Check
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import error_beside
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

FEATURES = (
    *("shares", "partitions", "taints", "groups", "status", "conditions", "dynamic"),
    *("health", "metadata"),
)
"""What the driver of these checks has."""

SHARES, PARTITIONS, GROUPS = (f"{NODE}-{name}" for name in ("shares", "partitions", "groups"))
SOON_S = 1.5


def on_features(case: str) -> Callable[[Check], Check]:
    """A check of a driver that has the features; any other passes it."""

    def register(function: Check) -> Check:
        def judge(rig: Rig) -> None:
            if rig.options.features:
                function(rig)

        return check(case)(judge)

    return register


def a_share(request: str = "req0", memory: str = "1Gi") -> Any:
    """A result with a share of the shared device."""
    amounts = {"consumedCapacity": {"memory": memory}, "shareID": str(uuid.uuid4())}
    return result("shared-0", request, pool=SHARES, **amounts)


@on_features("CAP-002")
def _(rig: Rig) -> None:
    one, other = rig.claim(a_share()), rig.claim(a_share())
    assert error_beside(rig, one, other) == ""


@on_features("CAP-003")
def _(rig: Rig) -> None:
    one, other = rig.claim(a_share()), rig.claim(a_share())
    good(rig, one)
    entry = good(rig, other)
    freed(rig, one)
    kept = rig.resolves(entry)
    freed(rig, other)
    assert kept


@on_features("CAP-005")
def _(rig: Rig) -> None:
    claim = rig.claim(a_share("req0"), a_share("req1"))
    entry = good(rig, claim)
    freed(rig, claim)
    assert len(entry.devices) == 2


@on_features("CAP-006")
def _(rig: Rig) -> None:
    claim = rig.claim(a_share())
    good(rig, claim)
    [before] = [item for item in rig.store.of(DRIVER) if item["spec"]["pool"]["name"] == SHARES]
    rig.store.delete(before["metadata"]["name"])

    def now() -> list[Any]:
        return [
            item["spec"]["devices"]
            for item in rig.store.of(DRIVER)
            if item["spec"]["pool"]["name"] == SHARES
        ]

    rig.wait(now, SOON_S)
    found = now()
    freed(rig, claim)
    assert found in ([], [before["spec"]["devices"]])


@on_features("CAP-007")
def _(rig: Rig) -> None:
    one, other = rig.claim(result("shared-0", pool=SHARES)), rig.claim(a_share())
    assert error_beside(rig, one, other)


@on_features("CAP-008")
def _(rig: Rig) -> None:
    one, other = rig.claim(a_share(memory="10Gi")), rig.claim(a_share(memory="10Gi"))
    assert error_beside(rig, one, other)


@on_features("CAP-009")
def _(rig: Rig) -> None:
    share = a_share()
    claim = rig.claim(share)
    entry = good(rig, claim)
    freed(rig, claim)
    shared = "share_id" in type(entry.devices[0]).DESCRIPTOR.fields_by_name
    assert not shared or entry.devices[0].share_id == share["shareID"]


@on_features("PART-010")
def _(rig: Rig) -> None:
    whole, half = (rig.claim(result(name, pool=PARTITIONS)) for name in ("whole-0", "half-0"))
    assert error_beside(rig, whole, half)


@contextlib.contextmanager
def _faulty(rig: Rig) -> Iterator[None]:
    file = rig.options.data_dir / "faulty-gpu-0"
    file.touch()
    try:
        yield
    finally:
        file.unlink()


def _first(rig: Rig) -> dict[str, Any]:
    for item in rig.store.of(DRIVER):
        for device in item["spec"].get("devices", []):
            if device["name"] == "gpu-0":
                return dict(device)
    return {}


@on_features("TAINT-003")
def _(rig: Rig) -> None:
    rig.wait(lambda: _first(rig), SOON_S)
    with _faulty(rig):
        tainted = rig.wait(lambda: _first(rig).get("taints"), SOON_S)
    rig.wait(lambda: _first(rig) and not _first(rig).get("taints"), SOON_S)
    assert tainted


@on_features("TAINT-005")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    good(rig, claim)
    with _faulty(rig):
        error = rig.unprepare(claim)
    freed(rig, claim)
    assert error == ""


@on_features("TAINT-006")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    with _faulty(rig):
        entry = rig.prepare(claim)
    freed(rig, claim)
    assert entry.error == ""


@on_features("CAP-004")
def _(rig: Rig) -> None:
    claim = rig.claim(a_share(memory="2Gi"))
    asked = {"name": "req0", "exactly": {"capacity": {"requests": {"memory": "1Gi"}}}}
    stored = rig.stored(claim)
    stored["spec"] = {"devices": {"requests": [asked]}}
    good(rig, claim)
    text = (rig.options.data_dir / "claims" / f"{claim.uid}.json").read_text("utf-8")
    freed(rig, claim)
    assert '"2Gi"' in text


@on_features("TAINT-004")
def _(rig: Rig) -> None:
    def times() -> list[str]:
        return [taint.get("timeAdded", "") for taint in _first(rig).get("taints", [])]

    with _faulty(rig):
        rig.wait(times, SOON_S)
        known = times()
        second = int(time.time())
        rig.wait(lambda: int(time.time()) > second, SOON_S)
        again = rig.options.data_dir / "faulty-gpu-1"
        before = len(rig.store.writes)
        again.touch()
        rig.wait(lambda: len(rig.store.writes) > before, SOON_S)
        now = times()
        again.unlink()
    rig.wait(lambda: _first(rig) and not _first(rig).get("taints"), SOON_S)
    assert now == known


@on_features("PART-008")
def _(rig: Rig) -> None:
    one, other = (rig.claim(result(f"grouped-{n}", pool=GROUPS)) for n in range(2))
    assert error_beside(rig, one, other)


@on_features("PART-009")
def _(rig: Rig) -> None:
    assert rig.driver is not None
    publisher, key = rig.driver.publisher, (DRIVER, GROUPS)
    wanted = publisher.wanted
    spec = wanted[key].specs[0]
    metadata = {"name": "a-slice", "resourceVersion": "1"}
    with publisher.lock:
        seen = dict(publisher.seen)
        publisher.written(
            spec, {"metadata": metadata, "spec": slices.without_groups(wanted[key]).specs[0]}
        )
        now = publisher.wanted[key].specs[0]
        publisher.seen, publisher.wanted, publisher.groups_dropped = seen, wanted, False
    assert "compatibilityGroups" not in str(now)


@on_features("PART-007")
def _(rig: Rig) -> None:
    claim = rig.claim(result("slot-0", pool=f"{NODE}-dynamic"))
    directory = rig.options.data_dir / "partitions"
    before = sorted(directory.iterdir())
    good(rig, claim)
    made = sorted(directory.iterdir())
    freed(rig, claim)
    left = sorted(directory.iterdir())
    for path in set(left) - set(before):
        path.unlink()
    assert made != before
    assert left == before
