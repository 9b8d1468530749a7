"""One illegal edit of a valid set of slices: exactly the case concerned finds it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import assume
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_dra.bench.devices import newest_generation
from pytest_dra.checks import registration
from pytest_dra.checks import slices
from pytest_dra.spec import Json
from pytest_dra.wire.answers import PluginInfo
from tests.checks.raising import said
from tests.checks.slice_sets import DRIVER
from tests.checks.slice_sets import ONE_TERM
from tests.checks.slice_sets import Slices
from tests.checks.slice_sets import edits_of
from tests.checks.slice_sets import slice_sets

INFO = PluginInfo(type="DRAPlugin", name=DRIVER, endpoint="", supported_versions=("v1.DRAPlugin",))

JUDGEMENTS: dict[str, Callable[[Slices], None]] = {
    "REG-003": lambda found: registration.name_must_be_the_drivers(INFO, slices=found, given=None),
    "SLICE-002": slices.nodes_must_be_chosen_once,
    "SLICE-003": lambda found: slices.node_names_must_be(found, node="node-a"),
    "SLICE-005": lambda found: slices.counts_must_be_true(newest_generation(found)),
    "SLICE-007": lambda found: slices.device_names_must_be_unique(newest_generation(found)),
    "SLICE-008": slices.names_must_be_well_formed,
}


def failed(found: Slices) -> set[str]:
    """The cases that a set of slices fails."""
    return {id for id, judge in JUDGEMENTS.items() if said(partial(judge, found))}


@settings(deadline=None)
@given(slice_sets())
def test_a_valid_set_fails_no_case(found: Slices) -> None:
    assert failed(found) == set()


@settings(deadline=None)
@given(slice_sets(), st.data())
def test_an_illegal_edit_fails_exactly_its_own_case(found: Slices, data: st.DataObject) -> None:
    edits = edits_of(found)
    assume(edits)
    wanted = data.draw(st.sampled_from(sorted({id for id, _ in edits})))
    case, edit = data.draw(st.sampled_from([each for each in edits if each[0] == wanted]))
    edit()
    assert failed(found) == {case}


def test_every_kind_of_edit_is_found_at_every_place_of_one_set() -> None:
    seen = set()
    for number in range(len(edits_of(two_pools()))):
        found = two_pools()
        case, edit = edits_of(found)[number]
        edit()
        assert failed(found) == {case}, f"edit {number} of {case}"
        seen.add(case)
    assert seen == {"SLICE-002", "SLICE-005", "SLICE-007", "SLICE-008"}


def two_pools() -> Slices:
    """A pool of two slices beside a stale one, and a pool of one slice for all nodes."""
    stale, first, second = (
        _slice("node-a", 3, count=2, devices=["gpu-0", "gpu-1"]),
        _slice("node-a", 4, count=2, devices=["gpu-0"]),
        _slice("node-a", 4, count=2, devices=["gpu-1"]),
    )
    network = _slice("fabric/rack-1", 1, count=1, devices=["port-0"])
    del network["spec"]["nodeName"]
    network["spec"]["nodeSelector"] = ONE_TERM
    return [stale, first, second, network]


def _slice(pool: str, generation: int, *, count: int, devices: list[str]) -> Json:
    return {
        "metadata": {"generateName": "node-a-"},
        "spec": {
            "driver": DRIVER,
            "nodeName": "node-a",
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": [{"name": name} for name in devices],
        },
    }


def _without(field: str, **more: object) -> Slices:
    item = _slice("node-a", 1, count=1, devices=["gpu-0"])
    del item["spec"][field]
    item["spec"].update(more)
    return [item]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(
            [
                _slice("node-a", 1, count=2, devices=["gpu-0", "gpu-2"]),
                _slice("node-a", 1, count=2, devices=["gpu-1"]),
            ],
            id="V01 generation kept, slices of unlike size after a change of one",
        ),
        pytest.param(
            [
                _slice("a.b/c/d-1", 1, count=1, devices=[]),
                _slice("zone/" + "p" * 63, 1, count=2, devices=["gpu-0"]),
                _slice("zone/" + "p" * 63, 1, count=2, devices=[]),
            ],
            id="V10 pool names with slashes, several pools, no devices",
        ),
        pytest.param(_without("nodeName", allNodes=True), id="V14 a pool for all nodes"),
        pytest.param(
            _without("nodeName", perDeviceNodeSelection=True, nodeName=None, allNodes=None),
            id="fields set to null are not set",
        ),
        pytest.param(
            [_slice("node-a", 0, count=1, devices=["gpu-0"])], id="V27 the first generation is 0"
        ),
        pytest.param(
            [
                *[_slice("node-a", 1, count=3, devices=["gpu-0", "gpu-1"])] * 3,
                _slice("node-a", 2, count=1, devices=["gpu-0", "gpu-1"]),
            ],
            id="V27 all slices rewritten, those of the older generation not yet deleted",
        ),
        pytest.param([], id="nothing is published"),
    ],
)
def test_legal_oddities_of_real_drivers_fail_no_case(found: Slices) -> None:
    assert failed(found) == set()
