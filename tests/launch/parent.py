"""Plays pytest: run as ``python parent.py HOW PIDS``; ends as HOW says, or waits to be ended."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from pathlib import Path

from pytest_dra.launch import Component
from pytest_dra.launch import Driver
from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll


def main() -> None:
    how, pids = sys.argv[1:]
    keeper = Keeper()
    keeper.start()
    directories = NodeDirectories.make(keeper)
    script = str(Path(__file__).with_name("nasty_driver.py"))
    driver = Driver(
        [Component("nasty", (sys.executable, script, "{registry_dir}", pids))],
        directories=directories,
        keeper=keeper,
        timeline=Timeline(),
        instance="A",
        node="node-1",
    )
    driver.start()
    if how == "forked":
        # Holds all our descriptors open after our end, the keeper's input included.
        multiprocessing.get_context("fork").Process(
            target=threading.Event().wait, args=(20,), daemon=True
        ).start()
    poll(Path(pids).exists, Deadline.after(30))
    sys.stdout.write(f"{keeper.pid} {directories.root}\n")
    sys.stdout.flush()
    if how == "exception":
        raise RuntimeError("a fixture fails")
    if how == "close":
        keeper.close()
        return
    threading.Event().wait(60)


if __name__ == "__main__":
    main()
