"""A driver on a whole cluster: how it gets there, and what cases do with it there."""

from __future__ import annotations

from pytest_dra.live.bench import LiveBench

__all__ = ["LiveBench"]
