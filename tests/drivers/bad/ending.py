"""Ends, or never begins: ``python -m tests.drivers.bad.ending HOW [SWITCHES OF THE GOOD DRIVER]``.

at-once: exits with code 3 and a message; never: sleeps without registering; registered: ends soon
after its registration; no-directory: lacks its data directory; prepare: ends in the middle of
a Prepare; answered: soon after one.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import grpc

from pytest_dra.wire import Method
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.running import FOREVER_S
from tests.drivers.good.running import run

AT_ONCE = 3
REGISTERED = 4
PREPARE = 5
"""Exit codes, each different."""

SOON_S = 0.2


def end(code: int, why: str) -> None:
    """End like a crash: no clean-up."""
    sys.stderr.write(f"{why}\n")
    sys.stderr.flush()
    os._exit(code)


class EndsOnceRegistered(Plugin):
    """Ends soon after Notify(true)."""

    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        threading.Timer(SOON_S, end, (REGISTERED, "out of memory")).start()
        return super().notify(request, context)


class EndsInPrepare(Plugin):
    """Ends when it has prepared a claim and before it says so."""

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        answer = super().prepare(method, request, context)
        if request.claims:
            end(PREPARE, "panic: nil map")
        return answer


class EndsOnceAnswered(Plugin):
    """Ends soon after it has prepared a claim and said so."""

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        if request.claims:
            threading.Timer(SOON_S, end, (PREPARE, "segmentation fault")).start()
        return super().prepare(method, request, context)


def main(how: str, switches: list[str]) -> None:
    """Be such a driver."""
    if how == "at-once":
        sys.stdout.write("starting\n")
        sys.stdout.flush()
        end(AT_ONCE, "fatal: no GPU found")
    elif how == "no-directory":
        path = Path(os.environ["KUBELET_PLUGINS_DIRECTORY_PATH"], "gpu.example.com", "dra.sock")
        end(AT_ONCE, f"listen unix {path}: bind: no such file or directory")
    elif how == "never":
        stopping = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())
        stopping.wait(FOREVER_S)
    elif how == "registered":
        run(switches, plugin_class=EndsOnceRegistered)
    elif how == "answered":
        run(switches, plugin_class=EndsOnceAnswered)
    elif how == "prepare":
        run(switches, plugin_class=EndsInPrepare)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
