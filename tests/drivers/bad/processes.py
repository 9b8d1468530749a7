"""Odd as a process: ``python -m tests.drivers.bad.processes WHAT [SWITCHES]``.

children: 200 children in sessions of their own that ignore SIGTERM; leaves: a daemon that holds
the sockets and serves on while the driver itself ends; hides: a daemon without environment;
stops: SIGSTOP once it is registered, or with the first Prepare (stops-in-prepare); mute: closes
its outputs; shouts: 100 MB of output, and escapes: output full of control characters, both before
it ends by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import grpc

from pytest_dra.wire import Method
from tests.drivers.bad.answers import ESCAPES
from tests.drivers.bad.children import leave as leave_children
from tests.drivers.bad.messy import talk
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.running import run

CHILDREN = 200
CODE = 6
SOON_S = 0.2
WHAT = sys.argv[1] if len(sys.argv) > 1 else ""

HIDDEN = "import signal, threading\nsignal.signal(15, signal.SIG_IGN)\nthreading.Event().wait(600)"


def children() -> None:
    """Many that stay."""
    leave_children(CHILDREN)


def leave() -> None:
    """Go on as a daemon; the process that was started ends."""
    if os.fork() != 0:
        os._exit(0)
    os.setsid()


def hide() -> None:
    """A daemon of which nothing tells where it came from but a path in its command line."""
    argv = [sys.executable, "-I", "-S", "-c", HIDDEN, os.environ["CDI_ROOT"]]
    if os.fork() == 0:
        subprocess.Popen(argv, start_new_session=True, env={})
        os._exit(0)


def end_noisily() -> None:
    """Say much, then end."""
    if WHAT == "shouts":
        talk()
    os.write(2, b"\xff\xfe fatal: " + ESCAPES.encode() + b" owned\n")
    os._exit(CODE)


class Stops(Plugin):
    """Stands still."""

    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        if WHAT == "stops":
            threading.Timer(SOON_S, os.kill, (os.getpid(), signal.SIGSTOP)).start()
        return super().notify(request, context)

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        if WHAT == "stops-in-prepare" and request.claims:
            os.kill(os.getpid(), signal.SIGSTOP)
        return super().prepare(method, request, context)


def main() -> None:
    """Be such a driver."""
    if WHAT == "children":
        children()
    elif WHAT == "leaves":
        leave()
    elif WHAT == "hides":
        hide()
    elif WHAT == "mute":
        os.close(1)
        os.close(2)
    elif WHAT in ("shouts", "escapes"):
        end_noisily()
    run(sys.argv[2:], plugin_class=Stops)


if __name__ == "__main__":
    main()
