"""Our allocator against stored answers to scenarios that cross its features, for each release."""

from __future__ import annotations

import pytest

from pytest_dra.allocator.rules import LATEST
from pytest_dra.allocator.rules import OLDEST
from tests.upstream import allocator
from tests.upstream.allocatorfuzz import timed_out
from tests.upstream.allocatorfuzz import verdicts
from tests.upstream.crossed import SCENARIOS
from tests.upstream.crossed.record import GOLDENS
from tests.upstream.crossed.record import scenarios
from tests.upstream.scenario import answer

WANTED = {one["id"]: one for one in allocator.documents(GOLDENS)}


@pytest.mark.parametrize("patience", [0, 40])
@pytest.mark.parametrize("minor", range(OLDEST, LATEST + 1))
def test_crossed_features_are_answered_like_in_the_scheduler(minor: int, patience: int) -> None:
    asked = [one for one in scenarios(minor) if one["id"] in WANTED]
    found = {}
    for one in asked:
        got = answer(one, patience=patience, minor=minor)
        text = allocator.difference(WANTED[one["id"]], got)
        if text:
            found[one["id"]] = text
    assert found == {}
    assert len(asked) >= len(SCENARIOS) - 1


def test_where_kubernetes_runs_out_of_time_there_is_an_answer() -> None:
    late = [one for one in WANTED.values() if timed_out(one) and "deadline" not in one["id"]]
    assert late
    asked = {one["id"]: one for minor in (OLDEST, 35, LATEST) for one in scenarios(minor)}
    for want in late:
        if want["id"] in asked:
            got = answer(asked[want["id"]], minor=allocator.release(want))
            assert not timed_out(got), want["id"]


def test_the_scenarios_have_names_of_their_own_and_every_verdict() -> None:
    assert len({one["id"] for one in SCENARIOS}) == len(SCENARIOS)
    kinds = {kind for one in WANTED.values() for kind in verdicts(one)}
    assert {"fits", "nofit", "node", "fatal", "timeout"} <= kinds
