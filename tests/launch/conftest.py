from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.launch import Keeper
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll


def soon(look: Callable[[], Any], span_s: float = 20.0) -> Any:
    """Wait until ``look`` gives something true; fails the test otherwise."""
    found = poll(look, Deadline.after(span_s))
    assert found, "did not happen in time"
    return found


def gone(pid: int) -> bool:
    """True if the process has ended, collected by its parent or not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in ("Z", "X")


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    with Keeper() as made:
        yield made
