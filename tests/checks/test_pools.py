"""Judgements of pools over time: what they say."""

from __future__ import annotations

import pytest

from pytest_dra.checks import pools
from pytest_dra.checks.pools import Moment
from pytest_dra.spec import Json
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said

DRIVER = "gpu.example.com"


def item(
    name: str, *devices: str, generation: int = 1, count: int = 1, pool: str = "p", **spec: object
) -> Json:
    """A slice of node-a."""
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "nodeName": "node-a",
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": [{"name": device} for device in devices],
            **spec,
        },
    }


OLD = (item("s1", "a", "b", count=2), item("s2", "c", count=2))
NEW = (item("s1", "b", "c", generation=2, count=2), item("s2", generation=2, count=2))
HALF = (NEW[0], OLD[1])
SAME_GENERATION = (item("s1", "b", "c", count=2), OLD[1])


def views(*states: tuple[Json, ...]) -> Judgement:
    moments = [Moment(serial=number, slices=state) for number, state in enumerate(states)]
    return lambda: pools.views_must_be_whole(moments, old=OLD, new=NEW, during="a hotplug")


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(views(OLD, HALF, NEW), id="incomplete in between"),
        pytest.param(views((item("s1", "a"),), (item("s1", "z"),)), id="one slice is one write"),
        pytest.param(views(()), id="nothing"),
        pytest.param(
            lambda: pools.pool_names_must_differ(
                [item("s1", pool="p"), item("s0", pool="all", nodeName=None)],
                [item("s2", pool="q", nodeName="b"), item("s3", pool="all", nodeName=None)],
            ),
            id="V14 pools of two nodes and one of none",
        ),
        pytest.param(
            lambda: pools.leftovers_must_be_gone([*NEW, item("x", pool="q")], after="", within_s=9),
            id="tidy",
        ),
        pytest.param(
            lambda: pools.generations_must_rise(old=OLD, new=NEW, during="a hotplug"), id="raised"
        ),
        pytest.param(
            lambda: pools.generations_must_rise(
                old=OLD, new=(item("s1", "a", count=2), OLD[1]), during="a hotplug"
            ),
            id="V01 one slice keeps the generation",
        ),
        pytest.param(lambda: pools.generation_must_not_fall([], item("s", generation=0)), id="new"),
        pytest.param(
            lambda: pools.generation_must_not_fall(OLD, item("s1", generation=1)), id="kept"
        ),
        pytest.param(lambda: pools.writers_must_be_one({"p": ["a", "a"], "q": ["b"]}), id="one"),
        pytest.param(
            lambda: pools.foreign_must_be_left(
                [item("s"), item("t", nodeName=None)],
                driver=DRIVER,
                node="node-a",
                others={"b"},
                verb="delete",
                proof=(),
            ),
            id="own slices",
        ),
    ],
)
def test_good_pools_are_let_pass(judgement: Judgement) -> None:
    assert said(judgement) is None


def test_the_newest_generation_counts_and_only_if_it_is_complete() -> None:
    assert pools.newest([*OLD, *NEW]) == list(NEW)
    assert pools.view_of(HALF) is None
    assert pools.are_whole([*OLD, *NEW])
    assert not pools.are_whole(HALF)
    assert pools.are_tidy(NEW)
    assert not pools.are_tidy([*OLD, *NEW])


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        pytest.param(
            views(OLD, SAME_GENERATION, NEW),
            Said(
                "pool 'p' during a hotplug",
                "a complete pool of 2 slices with 2 devices, other than afterwards: c",
                "a complete pool with the devices before or after the change, nothing between",
                (1,),
            ),
            id="mixture",
        ),
        pytest.param(
            lambda: pools.pool_names_must_differ([item("s1")], [item("s2", nodeName="b")]),
            Said(
                "pool 'p'",
                "node-local slices of the nodes node-a and b",
                "a pool name of its own for each node",
            ),
            id="pool-names",
        ),
        pytest.param(
            lambda: pools.leftovers_must_be_gone([*OLD, *NEW], after="a restart", within_s=90),
            Said(
                "pool 'p' after a restart",
                "4 slices of the generations [1, 2] that state resourceSliceCount [2]",
                "slices of one generation, as many as they state, within 90 s",
            ),
            id="left-over",
        ),
        pytest.param(
            lambda: pools.generations_must_rise(
                old=OLD,
                new=(item("s1", "b", count=2), item("s2", "d", count=2)),
                during="a hotplug",
            ),
            Said(
                "pool 'p' after a hotplug",
                "2 slices changed, generation 1 before and 1 after it",
                "a generation above 1",
            ),
            id="not-raised",
        ),
        pytest.param(
            lambda: pools.generation_must_not_fall(NEW, item("s3", generation=1), proof=(3,)),
            Said(
                "ResourceSlice s3 of pool 'p'",
                "written with generation 1",
                "at least 2, the generation of slices that are still there",
                (3,),
            ),
            id="fallen",
        ),
        pytest.param(
            lambda: pools.writers_must_be_one({"p": ["b", "a", "b"]}),
            Said("pool 'p', which is of no node", "written by a, b", "one writer"),
            id="two-writers",
        ),
        pytest.param(
            lambda: pools.foreign_must_be_left(
                [item("s", nodeName="b")],
                driver=DRIVER,
                node="a",
                others={"b"},
                verb="delete",
                proof=(4,),
            ),
            Said(
                "delete by the driver's instance on node a",
                f"ResourceSlice s of driver {DRIVER} on node b",
                "slices of other drivers and other nodes left alone",
                (4,),
            ),
            id="foreign",
        ),
    ],
)
def test_bad_pools_are_told_with_place_value_and_wish(judgement: Judgement, expected: Said) -> None:
    assert said(judgement) == expected
