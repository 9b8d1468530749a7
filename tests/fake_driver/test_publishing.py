"""The published slices are right, and become right again whatever happens to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dra.fake_driver import publisher
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import running

THREE_SLICES = """
pools:
  - name: "{node}"
    devicesPerSlice: 4
    devices:
      - {name: "dev-{index}", count: 10, capacity: {memory: {value: 1024Mi}}}
"""


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "BACKOFF_FIRST_S", 0.02)
    monkeypatch.setattr(publisher, "BACKOFF_MAX_S", 0.05)


@pytest.fixture(name="rig")
def _rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    path = tmp_path_factory.mktemp("inventory") / "three.yaml"
    path.write_text(THREE_SLICES)
    with running(inventory=path) as rig:
        assert rig.wait(lambda: complete(rig))
        yield rig


def specs(rig: Rig) -> list[Any]:
    return [item["spec"] for item in rig.store.of(DRIVER)]


def complete(rig: Rig) -> bool:
    """Three slices of one generation with ten devices in order."""
    found = specs(rig)
    names = [device["name"] for spec in found for device in spec["devices"]]
    return (
        len({spec["pool"]["generation"] for spec in found}) == 1
        and names == [f"dev-{n}" for n in range(10)]
        and all(spec["pool"]["resourceSliceCount"] == len(found) == 3 for spec in found)
        and all(spec["devices"][0].get("attributes") is None for spec in found)
    )


def generation(rig: Rig) -> int:
    return max(int(spec["pool"]["generation"]) for spec in specs(rig))


def test_slices_name_node_and_owner_and_the_first_generation_is_one(rig: Rig) -> None:
    for item in rig.store.of(DRIVER):
        assert item["spec"]["nodeName"] == NODE
        owner = item["metadata"]["ownerReferences"]
        assert [(o["kind"], o["name"], o["uid"], o["controller"]) for o in owner] == [
            ("Node", NODE, "node-uid", True)
        ]
    assert generation(rig) == 1
    assert len(rig.store.writes) == 3


def test_wiped_slices_come_back_with_a_higher_generation(rig: Rig) -> None:
    rig.store.wipe(NODE)
    assert rig.wait(lambda: complete(rig))
    assert generation(rig) > 1


def test_one_deleted_slice_raises_the_generation_of_all(rig: Rig) -> None:
    rig.store.delete(rig.store.of(DRIVER)[1]["metadata"]["name"])
    assert rig.wait(lambda: complete(rig))
    assert generation(rig) == 2


def edited(rig: Rig, index: int = 0) -> None:
    item = rig.store.of(DRIVER)[index]
    item["spec"]["devices"][0]["attributes"] = {"foreign": {"bool": True}}
    rig.store.put(item)


def test_one_edited_slice_is_put_right_within_its_generation(rig: Rig) -> None:
    edited(rig)
    assert rig.wait(lambda: complete(rig))
    assert generation(rig) == 1


def test_slices_that_belong_nowhere_are_removed_and_foreign_ones_are_not(rig: Rig) -> None:
    stray, foreign = rig.store.of(DRIVER)[:2]
    stray["metadata"].update(name="00000-stray", uid="1")
    stray["spec"]["pool"] = {"name": "old", "generation": 3, "resourceSliceCount": 1}
    foreign["metadata"].update(name="00000-foreign", uid="2")
    foreign["spec"]["driver"] = "other.example.com"
    surplus = rig.store.of(DRIVER)[2]
    surplus["metadata"].update(name="00009-surplus", uid="3")
    for item in (stray, foreign, surplus):
        rig.store.put(item)
    assert rig.wait(lambda: complete(rig))
    assert [item["metadata"]["name"] for item in rig.store.of("other.example.com")] == [
        "00000-foreign"
    ]


def test_a_generation_set_by_somebody_else_is_answered_with_the_next(rig: Rig) -> None:
    item = rig.store.of(DRIVER)[0]
    item["spec"]["pool"]["generation"] = 7
    rig.store.put(item)
    assert rig.wait(lambda: complete(rig))
    assert generation(rig) == 8


@pytest.mark.parametrize("status", [0, 409, 429, 500])
def test_failed_writes_are_repeated(rig: Rig, status: int) -> None:
    rig.store.failures += [status] * 3
    edited(rig)
    assert rig.wait(lambda: complete(rig) and not rig.store.failures)


def test_an_expired_watch_is_followed_by_a_new_list(rig: Rig) -> None:
    rig.store.compacted = True
    assert rig.wait(lambda: not rig.store.compacted)
    rig.store.wipe(NODE)
    assert rig.wait(lambda: complete(rig))


def test_nothing_is_written_when_nothing_has_changed(rig: Rig) -> None:
    before = len(rig.store.writes)
    item = rig.store.of(DRIVER)[0]
    for device in item["spec"]["devices"]:
        device["capacity"] = {"memory": {"value": "1Gi"}}
    item["metadata"]["labels"] = {"by": "somebody"}
    rig.store.put(item)
    marker = rig.store.version
    assert rig.kill_and_start()
    assert rig.driver is not None
    seen = rig.driver.publisher
    assert rig.wait(lambda: len(seen.seen) == 3 and seen.owner is not None)
    assert rig.store.version == marker
    assert len(rig.store.writes) == before


def test_a_refused_pool_does_not_keep_others_from_being_published() -> None:
    with running("SLICE-008") as rig:
        assert rig.wait(lambda: rig.store.of(DRIVER))
        edited(rig)
        assert rig.wait(lambda: "kind" in specs(rig)[0]["devices"][0]["attributes"])
        refused = [b for m, b in rig.store.writes if b["spec"]["pool"]["name"] == f"{NODE}-extra"]
        assert len(refused) == 1


def test_an_empty_inventory_is_one_empty_slice(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("inventory") / "empty.yaml"
    path.write_text('pools: [{name: "{node}", devices: []}]')
    with running(inventory=path) as rig:
        assert rig.wait(lambda: [spec["devices"] for spec in specs(rig)] == [[]])
