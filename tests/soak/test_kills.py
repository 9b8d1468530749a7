"""A few kills of the fake driver; ``python -m tests.soak.kills`` makes as many as wanted."""

from __future__ import annotations

from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.session import Session
from tests.soak.killing import Killing
from tests.soak.killing import kills

COUNT = 5


def killed(driver: str, *, count: int) -> Killing:
    settings = resolve(flag={"dra_driver": driver}.get, ini=lambda _: None, environ={})
    with Session(plan_of(settings)[1]) as session:
        return kills(session.bench, count=count, seed=1, report=lambda _: None)


def test_a_driver_that_is_killed_at_any_moment_loses_nothing() -> None:
    killing = killed("fake", count=COUNT)
    assert killing.losses == []
    assert sum(killing.moments.values()) == COUNT


def test_what_is_lost_is_told() -> None:
    assert killed("fake --fault=RST-001", count=COUNT).losses
