"""Good for a while: ``python -m tests.drivers.bad.fading HOW SECONDS [SWITCHES]``.

So many seconds after the start of each process it stops (SIGSTOP), exits (code 7 and a message),
hangs (no call is answered any more, sockets and slices stay) or refuses (each call of claims is an
error).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

import grpc

from pytest_dra.wire import Method
from tests.drivers.bad.ending import end
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.running import FOREVER_S
from tests.drivers.good.running import run

CODE = 7
HOW, AFTER_S = (sys.argv[1], float(sys.argv[2])) if len(sys.argv) > 2 else ("", 0.0)
BEGAN = time.monotonic()


class Fades(Plugin):
    """Its calls hang or are refused when the time has come."""

    def fade(self, context: grpc.ServicerContext) -> None:
        if time.monotonic() - BEGAN < AFTER_S:
            return
        if HOW == "hangs":
            threading.Event().wait(FOREVER_S)
        elif HOW == "refuses":
            context.abort(grpc.StatusCode.INTERNAL, "device file handle is closed")

    def get_info(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.fade(context)
        return super().get_info(request, context)

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        self.fade(context)
        return super().prepare(method, request, context)

    def unprepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        self.fade(context)
        return super().unprepare(method, request, context)


def main() -> None:
    """Be such a driver."""
    timers = {
        "stops": threading.Timer(AFTER_S, os.kill, (os.getpid(), signal.SIGSTOP)),
        "exits": threading.Timer(AFTER_S, end, (CODE, "fatal: lost the device")),
    }
    if HOW in timers:
        timers[HOW].daemon = True
        timers[HOW].start()
    run(sys.argv[3:], plugin_class=Fades)
    os._exit(0)


if __name__ == "__main__":
    main()
