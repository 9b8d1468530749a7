"""How much an explanation may try."""

from __future__ import annotations

import pytest

from pytest_dra.explaining import trials
from pytest_dra.explaining.binding import binding
from pytest_dra.explaining.changes import nearest
from pytest_dra.explaining.trials import Trials
from pytest_dra.scheduling import subjects
from tests.scheduling.sample import LARGE
from tests.scheduling.sample import claim
from tests.scheduling.sample import gpu
from tests.scheduling.sample import gpus
from tests.scheduling.sample import node
from tests.scheduling.sample import request
from tests.scheduling.sample import scheduler
from tests.scheduling.sample import selectors


def made(names: int = 40) -> Trials:
    wants = claim("big", request(selectors=selectors(LARGE)))
    nodes = [node(f"n{number}") for number in range(names)]
    slices = [gpus(f"n{number}", [gpu("gpu-0", "40Gi")]) for number in range(names)]
    found = scheduler(*nodes, *slices, wants)
    return Trials(found, found.decide(subjects.of_claim(wants)))


def test_what_binds_leaves_work_for_the_changes_that_would_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trials, "WORK_MAX", 200)
    monkeypatch.setattr("pytest_dra.explaining.binding._SHARE", 170)
    one = made()
    # A trial on forty nodes is more than it may take.
    assert binding(one) == ()
    assert [change.kind for change in nearest(one)] == ["selector-dropped"]


def test_the_work_is_counted_over_all_trials_of_an_explanation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trials, "WORK_MAX", 10)
    monkeypatch.setattr("pytest_dra.explaining.binding._SHARE", 0)
    one = made()
    assert binding(one) == ()
    assert nearest(one) == ()
