"""Times of the API."""

from __future__ import annotations

import datetime

import pytest

from pytest_dra.api import times


@pytest.mark.parametrize("text", ["", None, "2026-11-01", "2026-11-01T00:00:00.5Z"])
def test_what_is_no_time_is_none(text: object) -> None:
    assert times.moment_of(text) is None


def test_times_go_to_text_and_back() -> None:
    moment = datetime.datetime(2026, 11, 1, 12, 30, 5, tzinfo=datetime.timezone.utc)
    assert times.stamp(moment) == "2026-11-01T12:30:05Z"
    assert times.moment_of(times.stamp(moment)) == moment
