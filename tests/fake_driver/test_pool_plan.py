"""Which writes make a pool right, and what counts as the same slice."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.fake_driver.pool_plan import PoolPlan
from pytest_dra.fake_driver.pool_plan import dropped
from pytest_dra.fake_driver.pool_plan import plan

NODE = "node-a"
WANTED = [{"nodeName": NODE, "n": index} for index in range(3)]


def published(index: int, generation: int, *, n: int | None = None) -> dict[str, Any]:
    spec = {"nodeName": NODE, "n": index if n is None else n, "pool": {"generation": generation}}
    return {"metadata": {"name": f"{index}-{generation}"}, "spec": spec}


def planned(*items: dict[str, Any], last: int = 0) -> PoolPlan:
    return plan(
        WANTED,
        items,
        index_of=lambda item: int(item["metadata"]["name"].partition("-")[0]),
        right=lambda item, spec: item["spec"]["n"] == spec["n"],
        last_generation=last,
    )


def test_a_right_pool_needs_nothing() -> None:
    assert planned(*(published(n, 4) for n in range(3))).writes == 0


def test_the_first_publication_has_generation_one_and_a_later_one_never_goes_back() -> None:
    assert planned() == PoolPlan(generation=1, obsolete=(), changed=(), missing=(0, 1, 2))
    assert planned(last=7).generation == 8


def test_one_wrong_slice_keeps_the_generation_and_two_raise_it_for_all() -> None:
    one = planned(published(0, 2), published(1, 2, n=9), published(2, 2))
    assert (one.generation, [index for index, _ in one.changed]) == (2, [1])
    two = planned(published(0, 2), published(1, 2, n=9), published(2, 2, n=9))
    assert (two.generation, [index for index, _ in two.changed]) == (3, [0, 1, 2])


def test_older_surplus_and_doubled_slices_are_obsolete() -> None:
    good = [published(n, 2) for n in range(3)]
    twin = published(1, 2)
    made = planned(*good, published(0, 1), published(7, 2), twin)
    assert len(made.obsolete) == 3
    assert (made.changed, made.missing, made.generation) == ((), (), 2)


@pytest.mark.parametrize(
    ("wanted", "got", "lost"),
    [
        ({"a": {"value": "1Gi"}}, {"a": {"value": "1024Mi"}}, ""),
        ({"a": "100G"}, {"a": "100e9"}, ""),
        ({"a": "0.1"}, {"a": "100m"}, ""),
        ({"a": []}, {}, ""),
        ({"a": [{"b": 1}]}, {"a": [{}]}, "spec.a[0].b"),
        ({"a": "x"}, {"a": "y"}, "spec.a"),
        ({"a": [1, 2]}, {"a": [1]}, "spec.a"),
        ({"pool": {"generation": 1}}, {"pool": {"generation": 2}}, ""),
    ],
)
def test_values_are_the_same_if_they_mean_the_same(wanted: Any, got: Any, lost: str) -> None:
    assert dropped(wanted, got) == lost
