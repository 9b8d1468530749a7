"""Legal variants of publishing and of asking do what the catalogue says of them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.checks.pools import are_tidy
from pytest_dra.checks.pools import view_of
from pytest_dra.fake_driver import controller
from pytest_dra.fake_driver import publisher
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.controller import Lease
from pytest_dra.fake_driver.errors import ClaimGoneError
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.variants_publishing import Exits
from pytest_dra.fake_driver.variants_publishing import Late
from pytest_dra.fake_driver.variants_requests import NewestFirst
from pytest_dra.fake_driver.variants_requests import OldestFirst
from pytest_dra.fake_driver.variants_requests import Throttled
from pytest_dra.fake_driver.variants_slices import VARIANTS
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import running

THREE_SLICES = """
pools:
  - name: "{node}"
    devicesPerSlice: 4
    devices: [{name: "dev-{index}", count: 10}]
"""
DEVICES = 10

Started = Callable[[str], Rig]


@pytest.fixture(name="started")
def _started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """Starts a variant with three slices, and waits until they are there."""
    monkeypatch.setattr(publisher, "BACKOFF_FIRST_S", 0.02)
    path = tmp_path / "three.yaml"
    path.write_text(THREE_SLICES)
    made = []

    def start(variant: str) -> Rig:
        context = running(inventory=path, variant=variant)
        made.append(context)
        rig = context.__enter__()
        assert rig.wait(lambda: whole(rig))
        return rig

    yield start
    for context in made:
        context.__exit__(None, None, None)


def whole(rig: Rig) -> bool:
    found = rig.store.of(DRIVER)
    view = view_of(found)
    return (
        view is not None
        and len(view.devices) == DEVICES
        and are_tidy(found)
        and not any("foreign" in text for text in view.devices.values())
    )


def generations(rig: Rig) -> set[int]:
    return {item["spec"]["pool"]["generation"] for item in rig.store.of(DRIVER)}


def names(rig: Rig) -> set[str]:
    return {item["metadata"]["name"] for item in rig.store.of(DRIVER)}


def edit(rig: Rig) -> None:
    item = rig.store.of(DRIVER)[0]
    item["spec"]["devices"][0]["attributes"] = {"foreign": {"bool": True}}
    rig.store.put(item)


def test_v01_makes_one_deleted_slice_again_in_its_generation(started: Started) -> None:
    rig = started("V01")
    rig.store.delete(rig.store.of(DRIVER)[1]["metadata"]["name"])
    assert rig.wait(lambda: whole(rig))
    assert generations(rig) == {1}


def test_v27_makes_all_slices_anew_and_begins_with_generation_zero(started: Started) -> None:
    rig = started("V27")
    assert generations(rig) == {0}
    before = names(rig)
    assert not any(name.startswith("0000") for name in before)
    edit(rig)
    assert rig.wait(lambda: whole(rig))
    assert generations(rig) == {1}
    assert names(rig).isdisjoint(before)


def test_v27_all_writes_every_slice_for_one_change(started: Started) -> None:
    rig = started("V27-ALL")
    before = names(rig)
    edit(rig)
    assert rig.wait(lambda: whole(rig) and generations(rig) == {2})
    assert names(rig) == before


def test_v26_leaves_an_edit_until_its_time_comes(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Late, "period_s", 0.5)
    rig = started("V26")
    assert rig.driver is not None
    late = rig.driver.publisher
    assert isinstance(late, Late)
    with late.lock:
        edit(rig)
        assert late.timer is None
    assert rig.wait(lambda: late.timer is not None or whole(rig))
    rig.store.failures += [409]
    assert rig.wait(lambda: whole(rig) and not rig.store.failures)


def test_v22_ends_at_an_answer_that_is_an_error_and_before_it_has_reached_a_server() -> None:
    root = Path("/nonexistent")
    options = Options(node_name=NODE, registry_dir=root, plugins_dir=root, cdi_root=root)
    slices: Any = type("NoSlices", (), {"wanted": lambda self: []})()
    exits = Exits(options, ApiServer(None), slices)
    for status in (0, 409, 429, 500):
        with pytest.raises(StartError, match=r"refused; start the driver again"):
            exits.after(ApiError(status, "refused"), 0.0)
    assert exits.after(ApiError(410, "too old"), 0.0) == 0.0
    exits.reached = True
    assert exits.after(ApiError(0, "refused"), 0.0) > 0.0


class Asked(ApiServer):
    """Notes what is asked for; the claim exists if ``there``."""

    there = True

    def __init__(self) -> None:
        super().__init__(None)
        self.paths: list[str] = []

    def request(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        self.paths.append(path)
        if "/v1/" not in path or not self.there:
            raise ApiError(404, "not found")
        return {"kind": "ResourceClaim"}


class AskedOldest(Asked, OldestFirst):
    pass


class AskedNewest(Asked, NewestFirst):
    there = False


def versions(api: Asked) -> list[str]:
    return [path.split("/")[3] for path in api.paths]


def test_v24_asks_three_versions_for_each_claim() -> None:
    oldest, newest = AskedOldest(), AskedNewest()
    assert oldest.get_claim("ns", "c", timeout_s=1.0)["kind"] == "ResourceClaim"
    assert versions(oldest) == ["v1beta1", "v1beta2", "v1"]
    with pytest.raises(ClaimGoneError, match=r"claim ns/c cannot be read"):
        newest.get_claim("ns", "c", timeout_s=1.0)
    assert versions(newest) == ["v1", "v1beta2", "v1beta1"]


def test_v28_gives_each_request_a_turn_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[str] = []
    monkeypatch.setattr(ApiServer, "_open", lambda self, method, path, **more: turns.append(path))
    api = Throttled(None)
    first = api.turn()
    assert api.turn() - first == pytest.approx(0.2)
    api._open("GET", "/version")
    assert turns == ["/version"]


@pytest.mark.parametrize(
    ("variant", "pools"),
    [
        ("V10", {NODE: 14}),
        ("V10-NAME", {f"devices.of/{NODE}": 14}),
        ("V10-SEVERAL", {f"{NODE}/0": 7, f"{NODE}/1": 7}),
        ("V10-NONE", {NODE: 0}),
        ("V14", {NODE: 14, "fabric": 2}),
    ],
)
def test_v10_and_v14_have_these_pools(variant: str, pools: dict[str, int], tmp_path: Path) -> None:
    options = Options(
        node_name=NODE, registry_dir=tmp_path, plugins_dir=tmp_path, cdi_root=tmp_path
    )
    found = VARIANTS[variant]["inventories"](options).load()
    assert {pool.name: len(pool.devices) for pool in found.pools} == pools


@pytest.mark.parametrize(("variant", "field"), [("V14", "allNodes"), ("V17", "nodeSelector")])
def test_the_shared_pool_is_of_no_node_and_the_same_everywhere(variant: str, field: str) -> None:
    made = []
    for node in ("node-a", "node-b"):
        root = Path("/nonexistent")
        options = Options(node_name=node, registry_dir=root, plugins_dir=root, cdi_root=root)
        found = VARIANTS[variant]["inventories"](options).load()
        shared = VARIANTS[variant]["publisher"].shared(options, found).wanted()
        assert [pool.pool for pool in shared] == ["fabric"]
        assert field in shared[0].specs[0]
        assert "nodeName" not in shared[0].specs[0]
        assert [p.pool for p in VARIANTS[variant]["slices"](options, found).wanted()] == [node]
        made.append(shared)
    assert made[0] == made[1]


class Leases(ApiServer):
    """An API server with one Lease."""

    def __init__(self) -> None:
        super().__init__(None)
        self.lease: dict[str, Any] | None = None
        self.version = 0

    def request(self, method: str, path: str, *, body: Any = None, **more: Any) -> dict[str, Any]:
        if method == "GET":
            if self.lease is None:
                raise ApiError(404, "not found")
            return {**self.lease, "metadata": dict(self.lease["metadata"])}
        version = body["metadata"].get("resourceVersion")
        if self.lease is not None and version != str(self.version):
            raise ApiError(409, "conflict")
        self.version += 1
        self.lease = {
            **body,
            "metadata": {**body["metadata"], "resourceVersion": str(self.version)},
        }
        return self.lease


def test_one_controller_holds_the_lease_until_it_is_not_renewed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = Leases()
    one, other = Lease(api, "controller"), Lease(api, "controller")
    assert one.hold()
    assert one.hold()
    assert not other.hold()
    monkeypatch.setattr(controller, "LEASE_S", 0)
    assert other.hold()
    monkeypatch.undo()
    assert not one.hold()
