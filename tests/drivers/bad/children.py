"""Children of a bad driver that outlive it."""

from __future__ import annotations

import os
import signal
import threading

from tests.drivers.good.running import FOREVER_S


def leave(count: int) -> None:
    """Children in sessions of their own, deaf to SIGTERM."""
    for _ in range(count):
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            threading.Event().wait(FOREVER_S)
            os._exit(0)
