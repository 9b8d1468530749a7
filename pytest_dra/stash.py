"""What a run keeps on pytest's config."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_dra.options import Settings

if TYPE_CHECKING:
    from contextlib import ExitStack

    from pytest_dra.offering import Offer
    from pytest_dra.running import Run


SETTINGS = pytest.StashKey[Settings]()
"""The options as resolved; always there."""

ASKED = pytest.StashKey[bool]()
"""True if the cases were asked for; absent where that was not decided (pytest's own look-ups)."""

RUN: pytest.StashKey[Run] = pytest.StashKey()
"""The run; only there when a driver is judged."""

OFFER: pytest.StashKey[Offer] = pytest.StashKey()
"""The whole cluster that workers of xdist share; only there in their controller."""

ENDING: pytest.StashKey[ExitStack] = pytest.StashKey()
"""What is ended with pytest."""

OBJECTS = pytest.StashKey[bool]()
"""True if captured objects are judged, and no driver."""
