"""Figures of a run: from the timeline, added up, and as the report shows them."""

from __future__ import annotations

import dataclasses

from pytest_dra.report.figures import NONE
from pytest_dra.report.figures import PREPARE
from pytest_dra.report.figures import Figures
from pytest_dra.report.figures import distribution
from pytest_dra.report.figures import measured
from pytest_dra.report.figures import quantile
from pytest_dra.timeline import Entry
from pytest_dra.timeline import Event
from pytest_dra.timeline import ProcessEvent
from tests.report.test_excerpt import CALL
from tests.report.test_sequence import request

START = ProcessEvent(instance="a", component="plugin", action="start", pid=1)
USERS = {"system:serviceaccount:gpu:driver": "a"}


def entries(*found: tuple[float, Event], disturbed: bool = False) -> list[Entry[object]]:
    return [Entry(serial, at, disturbed, each) for serial, (at, each) in enumerate(found)]


def test_answered_calls_that_nothing_disturbed_are_measured() -> None:
    refused = dataclasses.replace(CALL, code="DEADLINE_EXCEEDED", response=None)
    found = measured(entries((1, CALL), (2, refused)), USERS)
    assert found.calls_ms[PREPARE] == [10.0]
    assert measured(entries((1, CALL), disturbed=True), USERS).calls_ms[PREPARE] == []


def test_publication_counts_from_the_start_to_the_first_accepted_write() -> None:
    found = measured(
        entries(
            (1, START), (1.5, request(code=409)), (3, request(code=201)), (4, request(code=201))
        ),
        USERS,
    )
    assert found.published_s == [2]


def test_a_start_without_a_write_before_the_next_one_counts_for_nothing() -> None:
    found = measured(entries((1, START), (5, START), (6, request(code=201))), USERS)
    assert found.published_s == [1]
    assert measured(entries((1, START), (2, request(identity="other"))), USERS).published_s == []


def test_figures_of_several_processes_add_up_and_cross_a_channel() -> None:
    one = Figures(calls_ms={PREPARE: [1.0]}, published_s=[2.0], idle_s=10, idle_writes=1)
    both = one + Figures(**one.to_dict())
    assert both.calls_ms[PREPARE] == (1.0, 1.0)
    assert (both.published_s, both.idle_s, both.idle_writes) == ((2.0, 2.0), 20, 2)


def test_a_distribution_has_quantiles_and_bars_without_empty_ones() -> None:
    assert distribution([0.5, 1.5, 1.7, 400_000]) == {
        "calls": 4,
        "p50": 1.5,
        "p99": 400_000,
        "max": 400_000,
        "bars": [
            {"upTo": 1, "calls": 1},
            {"upTo": 2, "calls": 2},
            {"upTo": 60_000, "calls": 1},
        ],
    }


def test_of_nothing_only_the_number_is_shown() -> None:
    assert NONE.shown()["prepare"] == {"calls": 0}


def test_a_quantile_is_one_of_the_values() -> None:
    assert quantile([1, 2, 3, 4], 0.5) == 2
    assert quantile([1], 0.99) == 1
