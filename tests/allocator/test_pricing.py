"""The cheapest devices that can serve several requests, against trying all of them."""

from __future__ import annotations

import itertools
import random

import pytest

from pytest_dra.allocator.pricing import dearer


def cheapest(slots: list[tuple[int, int]], prices: dict[int, int]) -> int | None:
    """What the cheapest devices for all slots cost, found by trying all."""
    wants = [devices for devices, count in slots for _ in range(count)]
    found = [
        sum(prices[one] for one in chosen)
        for chosen in itertools.permutations(prices, len(wants))
        if all(devices >> one & 1 for devices, one in zip(wants, chosen, strict=True))
    ]
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(60))
def test_a_limit_is_exceeded_if_and_only_if_the_cheapest_choice_exceeds_it(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    prices = {place: draw.randint(0, 4) for place in range(6)}
    slots = [(draw.randrange(1, 64), draw.randint(1, 2)) for _ in range(draw.randint(1, 3))]
    best = cheapest(slots, prices)
    free = [place for place, price in prices.items() if not price]
    dear = {place: price for place, price in prices.items() if price}
    for limit in range(-1, 20):
        assert dearer(slots, free, dear, limit) is (best is None or best > limit)
