"""Some hostile requests; ``python -m tests.soak.hostile_requests`` sends as many as wanted."""

from __future__ import annotations

from tests.soak.hostile_requests import attack
from tests.soak.hostility import Attacker

COUNT = 400


def test_hostile_requests_find_neither_an_exception_nor_a_hang() -> None:
    result = attack(count=COUNT, seed=7)
    assert result.findings == []
    assert result.sent == COUNT


def test_a_seed_gives_the_same_requests_again() -> None:
    one, other = Attacker(3), Attacker(3)
    assert [one.request() for _ in range(50)] == [other.request() for _ in range(50)]
