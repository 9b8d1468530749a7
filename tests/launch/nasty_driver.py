"""A driver that does all it can to stay: run as ``python nasty_driver.py REGISTRY PIDS``.

It ignores signals, binds a socket, and leaves four descendants: one in its group, one in a session
of its own, a daemon without parent, and one without environment as well. All pids end up in the
file PIDS.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

STAY = "import signal, threading\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
STAY += "threading.Event().wait(300)"


def _stay(*, session: bool, env: dict[str, str] | None = None) -> int:
    argv = [sys.executable, "-I", "-S", "-c", STAY]
    return subprocess.Popen(argv, start_new_session=session, env=env).pid


def _daemon(*, env: dict[str, str] | None) -> int:
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.setsid()
        os.write(writer, str(_stay(session=True, env=env)).encode())
        os._exit(0)
    os.waitpid(middle, 0)
    return int(os.read(reader, 20))


def main() -> None:
    registry, pids = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(f"{registry}/nasty-reg.sock")
    bound.listen()
    locked = Path(registry, "locked")
    locked.mkdir()
    Path(locked, "inside").touch()
    locked.chmod(0)
    outside = Path(registry, "outside")
    outside.symlink_to(sys.argv[2] + ".kept")
    family = [os.getpid(), _stay(session=False), _stay(session=True)]
    family += [_daemon(env=None), _daemon(env={})]
    ready = Path(pids + ".new")
    ready.write_text(" ".join(map(str, family)))
    ready.rename(pids)
    threading.Event().wait(300)


if __name__ == "__main__":
    main()
