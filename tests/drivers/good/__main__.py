"""Runs the good driver: ``python -m tests.drivers.good [SWITCHES]``."""

from __future__ import annotations

from tests.drivers.good.running import run

if __name__ == "__main__":
    run()
