"""Where the marks of plots lie: within the plot, and as many as there is room for."""

from __future__ import annotations

import pytest

from pytest_dra.report import plots


@pytest.mark.parametrize("writes", [0, 1, 2, plots.TALLY_LIMIT, 10_000])
def test_each_write_has_a_mark_as_long_as_they_can_be_told_apart(writes: int) -> None:
    found = plots.tally(writes)
    assert len(found) == min(writes, plots.TALLY_LIMIT)
    assert found == sorted(set(found))
    assert all(plots.MARGIN <= each <= plots.WIDTH - plots.MARGIN for each in found)
