"""How a driver has ended by itself, in one line."""

from __future__ import annotations

from pytest_dra.launch import Driver


def obituary_of(driver: Driver) -> str:
    """The first of its processes that nobody asked to end; empty while all run."""
    for end in driver.early_exits():
        if end.exit_code is None and not end.log_tail:
            return f"process {end.component!r} has ended"
        last = (end.log_tail.strip().splitlines() or ["(no output)"])[-1]
        return f"process {end.component!r} exited with code {end.exit_code}: {last}"
    return ""
