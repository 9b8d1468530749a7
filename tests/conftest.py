"""What holds for all tests."""

from __future__ import annotations

import signal
from importlib.util import find_spec

ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""Signals that a shell lets its background jobs ignore, or nohup, and every child with them."""


def pytest_configure() -> None:
    """Hear every signal, whatever has started the tests: children are to be ended by them."""
    for each in ENDING:
        if signal.getsignal(each) is signal.SIG_IGN:
            heard = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
            signal.signal(each, heard)
    # Who only judges a driver in this folder has installed nothing for tests.
    if find_spec("hypothesis") is not None:
        _take_time()


def _take_time() -> None:
    """No test judges time: a busy machine makes what is generated slow, too."""
    from hypothesis import HealthCheck
    from hypothesis import settings

    slow = [HealthCheck.too_slow]
    settings.register_profile("any machine", deadline=None, suppress_health_check=slow)
    settings.load_profile("any machine")
