"""A whole cluster is made for the workers of xdist when the first one asks."""

from __future__ import annotations

from typing import NoReturn

import pytest

from pytest_dra.live.meeting import MeetingError
from pytest_dra.offering import Offer
from pytest_dra.session import Session


def test_nothing_is_made_before_somebody_asks() -> None:
    made: list[str] = []

    def session() -> Session:
        made.append("session")
        raise OSError("disk full")

    offer = Offer(session)
    assert not made
    with pytest.raises(MeetingError, match="disk full"):
        offer.meeting.wait()
    offer.close()
    assert made == ["session"]
    assert not offer.meeting.folder.exists()


def test_settings_that_cannot_be_used_are_told_to_who_asks() -> None:
    def session() -> NoReturn:
        pytest.fail("--dra-driver: no such image")

    offer = Offer(session)
    with pytest.raises(MeetingError, match="no such image"):
        offer.meeting.wait()
    offer.close()
