"""Plays pytest with a jailed driver, as any user: ``python jailer.py HOW [INSIDE OUTSIDE]``.

HOW is ``check``, ``reboot``, ``stay``, ``forbid``, ``outside``, or an exit code of the driver.
Standard library only.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from pytest_dra.launch import Component
from pytest_dra.launch import Driver
from pytest_dra.launch import Jail
from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.keeper import MARKER
from pytest_dra.launch.keeper import marked
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

PRISONER = str(Path(__file__).with_name("prisoner.py"))


def _say(what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _marked(pid: int, keeper: Keeper) -> bool:
    return any(marked(pid, f"{MARKER}={keeper.pid}.{start}".encode()) for start in (1, 2))


def _reachable(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        return client.connect_ex(str(path)) == 0


def _round(driver: Driver, jail: Jail, directories: NodeDirectories, keeper: Keeper) -> None:
    poll(lambda: driver.log_tail().count("\n") or not driver.alive, Deadline.after(20))
    text = driver.log_tail().splitlines()[-1]
    process = next(iter(driver.processes.values()))
    _say(
        {
            "report": json.loads(text) if text.startswith("{") else text,
            "pid": process.pid,
            "keeper": keeper.pid,
            # How the keeper finds what has hidden from its driver.
            "marked": not process.alive or _marked(process.pid, keeper),
            "root": str(directories.root),
            "boot_id": jail.boot_id,
            "reachable": [
                _reachable(jail.outside(f"/var/lib/kubelet/{path}"))
                for path in (
                    "plugins/jailed.example.com/dra.sock",
                    "plugins_registry/jailed.example.com-reg.sock",
                )
            ],
            "files": sorted(
                str(path.relative_to(directories.root))
                for path in directories.root.rglob("*")
                if not path.is_dir()
            ),
        }
    )


def _run(how: str, extra: dict[str, Path], keeper: Keeper) -> None:
    directories = NodeDirectories.make(keeper)
    jail = Jail(directories, extra=extra)
    code = (how,) if how.isdigit() else ()
    driver = Driver(
        [
            Component(
                "prisoner", (sys.executable, PRISONER, *code), {"EXTRA": next(iter(extra), "")}
            )
        ],
        directories=directories,
        keeper=keeper,
        timeline=Timeline(),
        instance="A",
        node="node-1",
        lodging=jail,
    )
    driver.start()
    _round(driver, jail, directories, keeper)
    if how == "stay":
        threading.Event().wait(60)
    elif how == "reboot":
        jail.reboot()
        _say({"ended": driver.terminate(Deadline.after(20))})
        directories.log("A", "prisoner").unlink()
        driver.start()
        _round(driver, jail, directories, keeper)
    else:
        poll(lambda: not driver.alive, Deadline.after(20))
        [early] = driver.early_exits()
        _say({"exit": early.exit_code})


WRITER = """
import sys
for path in sys.stdin:
    try:
        with open(path.strip(), "a") as file:
            file.write("x")
        print("written", flush=True)
    except OSError as error:
        print(error.strerror, flush=True)
"""


def _forbid(keeper: Keeper) -> None:
    """What a jailed process can write before, while and after it may not, and what root sees."""
    directories = NodeDirectories.make(keeper)
    jail = Jail(directories)
    command = jail.command([sys.executable, "-c", WRITER])
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def write(path: str) -> str:
            if process.stdin is None or process.stdout is None:
                return "no pipes"
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        spec, other = "/var/run/cdi/x.json", "/etc/cdi/x.json"
        found = [write(spec)]
        with jail.read_only("/var/run/cdi", [process.pid]):
            found += [write(spec), write(other)]
            (directories.cdi_dir / "ours.json").write_text("{}")
        found.append(write(spec))
        if process.stdin is not None:
            process.stdin.close()
        process.wait(20)
    with jail.read_only("/var/run/cdi", [process.pid]):
        found.append("ended")
    _say(found)


def _outside(trees: dict[str, Path], keeper: Keeper) -> None:
    """What a jailed process can write at places that are not its own, and what is seen of it."""
    jail = Jail(NodeDirectories.make(keeper), trees=trees)
    command = jail.command([sys.executable, "-c", WRITER])
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdin is None or process.stdout is None:
            return
        found = []
        for path in ("/etc/pytest-dra-made", f"{next(iter(trees))}/file", "/etc/cdi/own"):
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            found.append(process.stdout.readline().strip())
        _say([found, jail.made_outside([process.pid]), Path("/etc/pytest-dra-made").exists()])
        process.stdin.close()
        process.wait(20)
    _say(jail.made_outside([process.pid]))


def main() -> None:
    how, *pair = sys.argv[1:]
    extra = {pair[0]: Path(pair[1])} if pair else {}
    if how == "check":
        _say(Jail.check(extra))
        return
    with Keeper() as keeper:
        if how == "forbid":
            _forbid(keeper)
            return
        if how == "outside":
            _outside(extra, keeper)
            return
        _run(how, extra, keeper)


if __name__ == "__main__":
    main()
