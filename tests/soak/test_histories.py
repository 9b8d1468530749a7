"""Histories that ``python -m tests.soak.histories`` has found and made small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_dra.bench import Bench
from pytest_dra.bench.player import Player
from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.session import Session
from tests.soak.machine import search

FOUND = {"IDEM-009": "BAB", "RST-002": "AR", "RST-003": "AOA", "UNP-007": "Ax"}
"""The smallest history that fails, by the fault of the fake driver. At its end both claims
are released."""


@contextmanager
def bench_of(driver: str) -> Iterator[Bench]:
    settings = resolve(flag={"dra_driver": driver}.get, ini=lambda _: None, environ={})
    with Session(plan_of(settings)[1]) as session:
        yield session.bench


@pytest.mark.parametrize(("fault", "history"), FOUND.items())
def test_a_history_that_was_found_fails_and_none_of_its_steps_can_be_left_out(
    fault: str, history: str
) -> None:
    with bench_of(f"fake --fault={fault}") as bench:
        first, second = bench.devices(2)
        player = Player(bench, (first, second))
        assert player.play(history) is not None
        for number in range(len(history)):
            shorter = history[:number] + history[number + 1 :]
            assert player.play_anew(shorter) is None, shorter


def test_random_histories_of_a_good_driver_end_well() -> None:
    with bench_of("fake") as bench:
        assert search(bench, examples=3, seed=1) is None
