"""How xdist hands the cases to its workers: in shares. Imported only where xdist is in use."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import parse_tx_spec_config

from pytest_dra.cases import Body

Divide = Callable[[Sequence[str]], Mapping[str, int]]


def worker_count(config: pytest.Config) -> int:
    """How many workers xdist is to start."""
    return len(parse_tx_spec_config(config))


def place_of(nodeid: str) -> str:
    """File and function of an item, without the folder, which is spelled as pytest was started."""
    return nodeid.rpartition("/")[2]


def place_of_body(body: Body) -> str:
    """As :func:`place_of` of the item that pytest makes of the function."""
    return f"{body.__module__.rpartition('.')[2]}.py::{body.__name__}"


class ShareScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Hands each share over as a whole, and everything that is no case on its own.

    Args:
        config: the controller's.
        log: xdist's.
        divide: numbers of the shares of what was collected, by node id; without what is no case.
    """

    def __init__(self, config: pytest.Config, log: Any, divide: Divide) -> None:
        super().__init__(config, log)
        self._divide = divide
        self._shares: Mapping[str, int] | None = None

    def _split_scope(self, nodeid: str) -> str:
        if self._shares is None:
            self._shares = self._divide(self.collection or ())
        share = self._shares.get(nodeid)
        return nodeid if share is None else f"share {share}"
