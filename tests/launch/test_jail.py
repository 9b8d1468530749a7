"""The jail: what a driver with fixed paths sees and does in it, and what the host sees of it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.launch.conftest import gone
from tests.launch.conftest import soon
from tests.launch.prisoner import BOOT_ID
from tests.launch.prisoner import NAME

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
JAILER = str(HERE / "jailer.py")
NOBODY = 65534
FIXED = ("/var/lib/kubelet", "/var/run/cdi", "/run/cdi", "/etc/cdi")
TOUCHED = ("/sys", "/proc", "/dev", tempfile.gettempdir())
SPAN_S = 60.0


class Who:
    """A user who runs a jailer; ``ids`` if it is not the one who runs the tests."""

    def __init__(self, python: str, ids: dict[str, Any], before: Sequence[str]) -> None:
        self.python = python
        self.ids = ids
        self.before = before

    def popen(self, *arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*before, *self.before, self.python, *arguments],
            cwd="/",
            env={
                "PATH": os.defpath,
                "PYTHONPATH": str(PROJECT),
                "PYTHONDONTWRITEBYTECODE": "1",
                "TMPDIR": "/tmp",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **self.ids,
        )

    def run(self, *arguments: str, before: Sequence[str] = ()) -> list[Any]:
        with self.popen(*arguments, before=before) as process:
            output, problem = process.communicate(timeout=SPAN_S)
        assert process.returncode == 0, problem
        return [json.loads(line) for line in output.splitlines()]


@functools.cache
def _known(name: str) -> Who | None:
    """A user, if there is an interpreter that he may run with our sources."""
    ids: dict[str, Any] = {}
    before: tuple[str, ...] = ()
    if name != "ourselves" and os.geteuid() != 0:
        return None
    if name == "nobody":
        ids = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    elif name == "weak root":
        # Root of a container without privileges: it gets a user namespace too.
        before = ("setpriv", "--bounding-set=-sys_admin")
    for python in (sys.executable, "/usr/bin/python3"):
        who = Who(python, ids, before)
        try:
            who.run("-c", "import sys, pytest_dra.launch; assert sys.version_info >= (3, 10)")
        except (OSError, AssertionError):
            continue
        return who
    return None


@functools.cache
def _hindrance(name: str) -> str:
    found = _known(name)
    if found is None:
        return f"cannot run as {name}"
    [sentence] = found.run(JAILER, "check")
    return str(sentence)


@pytest.fixture(params=["ourselves", "nobody", "weak root"])
def who(request: pytest.FixtureRequest) -> Who:
    hindrance = _hindrance(request.param)
    found = _known(request.param)
    if found is None or hindrance:
        pytest.skip(hindrance)
    return found


@pytest.fixture
def place(who: Who) -> Iterator[Path]:
    """A directory of that user's, with one entry of each kind: a host's directory in small."""
    made = Path(tempfile.mkdtemp(prefix="dra-", dir="/tmp"))
    (made / "host" / "dir").mkdir(parents=True)
    (made / "host" / "dir" / "kept").write_text("kept ")
    (made / "host" / "file").write_text("host")
    (made / "host" / "link").symlink_to("dir/kept")
    (made / "host" / "dangling").symlink_to("/nonexistent")
    (made / "own").mkdir()
    os.mkfifo(made / "host" / "fifo")
    for path in (made, *made.rglob("*")):
        if who.ids:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    yield made
    shutil.rmtree(made)


def _names(directory: str | Path) -> list[str]:
    return sorted(path.name for path in Path(directory).iterdir())


def _of_host() -> list[Any]:
    """What a jail must not change: mounts, boot id, and the fixed paths."""
    return [
        [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if _is_ours(line)],
        BOOT_ID.read_text(),
        [os.path.lexists(path) and _names(path) for path in FIXED],
    ]


def _is_ours(line: str) -> bool:
    """True for a mount where a jail could put one; engines of containers have theirs elsewhere."""
    point = Path(line.split()[4])
    return any(point.is_relative_to(each) for each in (*FIXED, *TOUCHED))


def test_a_driver_with_fixed_paths_writes_into_the_nodes_directories(who: Who) -> None:
    before = _of_host()
    first, _, second = who.run(JAILER, "reboot")
    assert _of_host() == before
    for seen in (first, second):
        assert seen["reachable"] == [True, True]
        assert seen["report"]["pid"] == seen["pid"]
        assert seen["marked"]
        assert seen["report"]["kubelet"] == {"plugins": True, "plugins_registry": True}
        new, boot_id = seen["report"]["refused"]
        assert new == "Read-only file system"
        assert boot_id in ("Read-only file system", "Permission denied")
        assert seen["report"]["outside"] == {f"{NAME}-reg.sock": False}
        assert {f"plug/{NAME}/dra.sock", f"reg/{NAME}-reg.sock"} < set(seen["files"])
        assert {f"cdi/{NAME}.json", f"etc-cdi/{NAME}.json"} < set(seen["files"])
        assert not Path(seen["root"]).exists()
    # One file under three names, and it is still there at the next start.
    assert first["report"]["specs"] == ["x", "xx", "x", "xxx"]
    assert second["report"]["specs"] == ["x" * 4, "x" * 5, "xx", "x" * 6]


def test_what_a_driver_makes_elsewhere_lies_in_memory_and_is_seen(who: Who, place: Path) -> None:
    tree = place / "host" / "dir"
    (tree / "file").write_text("fake")
    if who.ids:
        os.chown(tree / "file", NOBODY, NOBODY)
    [written, made, on_host], ended = who.run(JAILER, "outside", "/sys/class/pytest-dra", str(tree))
    assert written[1:] == ["Read-only file system", "written"]
    assert made == (["/etc/pytest-dra-made"] if written[0] == "written" else [])
    assert written[0] == "written" or who.ids
    assert not on_host
    assert (tree / "file").read_text() == "fake"
    assert ended == []


def test_a_reboot_shows_at_the_next_start(who: Who) -> None:
    first, ended, second = who.run(JAILER, "reboot")
    assert ended == {"ended": True}
    assert first["report"]["boot_id"] == first["boot_id"] + "\n"
    assert second["report"]["boot_id"] == second["boot_id"] + "\n"
    assert len({first["boot_id"], second["boot_id"], BOOT_ID.read_text().strip()}) == 3


def test_the_driver_is_what_it_is_outside(who: Who) -> None:
    seen, ended = who.run(JAILER, "7")
    report = seen["report"]
    assert ended == {"exit": 7}
    look = "import json, tests.launch.prisoner as p; print(json.dumps(p.powers()))"
    assert [report["powers"]] == who.run("-c", look)
    assert report["cwd"] == "/"


def test_a_path_that_the_host_has_not_appears_beside_what_it_has(who: Who, place: Path) -> None:
    inside = place / "host" / "deep" / "missing"
    seen, _ = who.run(JAILER, "0", str(inside), str(place / "own"))
    assert seen["report"]["extra"]["written"] == "x"
    assert (place / "own" / "file").read_text() == "x"
    assert _names(place / "host") == ["dangling", "dir", "fifo", "file", "link"]


def test_what_the_host_has_stays_visible_and_nothing_new_can_be_made(who: Who, place: Path) -> None:
    seen, _ = who.run(JAILER, "0", str(place / "host" / "missing"), str(place / "own"))
    extra = seen["report"]["extra"]
    assert extra["above"] == {
        "dangling": "/nonexistent",
        "dir": True,
        "fifo": False,
        "file": False,
        "link": "dir/kept",
        "missing": True,
    }
    assert extra["inner"] == {"kept": False}
    assert extra["new"] == "Read-only file system"
    assert extra["appended"] == "kept x"


@pytest.mark.parametrize("who", ["nobody"], indirect=True)
def test_what_a_user_may_not_write_he_may_not_in_the_jail(who: Who, place: Path) -> None:
    for path in (place / "host" / "dir", place / "host" / "dir" / "kept"):
        os.chown(path, 0, 0)
    seen, _ = who.run(JAILER, "0", str(place / "host" / "missing"), str(place / "own"))
    assert seen["report"]["extra"]["appended"] == "Permission denied"


def test_an_existing_directory_is_covered_in_the_jail_only(who: Who, place: Path) -> None:
    inside = place / "host" / "dir"
    seen, _ = who.run(JAILER, "0", str(inside), str(place / "own"))
    assert seen["report"]["extra"]["inner"] == {}
    assert _names(place / "own") == ["file", "kept"]
    assert (inside / "kept").read_text() == "kept "


def test_a_directory_can_be_made_unwritable_for_a_time(who: Who) -> None:
    [found] = who.run(JAILER, "forbid")
    assert found == ["written", "Read-only file system", "written", "written", "ended"]


def test_sigkill_of_the_parent_leaves_nothing(who: Who) -> None:
    before = _of_host()
    with who.popen(JAILER, "stay") as parent:
        assert parent.stdout is not None
        seen = json.loads(parent.stdout.readline())
        assert _of_host() == before
        parent.kill()
        parent.wait(SPAN_S)
    soon(lambda: gone(seen["pid"]))
    soon(lambda: not Path(seen["root"]).exists())
    assert _of_host() == before


def test_sigkill_of_the_keeper_takes_the_driver_along(who: Who) -> None:
    with who.popen(JAILER, "stay") as parent:
        assert parent.stdout is not None
        seen = json.loads(parent.stdout.readline())
        os.kill(seen["keeper"], signal.SIGKILL)
        soon(lambda: gone(seen["pid"]))
        parent.kill()
        parent.wait(SPAN_S)
    shutil.rmtree(seen["root"])


@pytest.mark.parametrize("who", ["nobody"], indirect=True)
def test_a_path_that_cannot_be_listed_is_said(who: Who, place: Path) -> None:
    os.chown(place / "host", 0, 0)
    (place / "host").chmod(0o711)
    [sentence] = who.run(JAILER, "check", str(place / "host" / "missing"), str(place / "own"))
    assert sentence == (
        f"--dra-jail is not possible here: {place}/host: Permission denied; run without --dra-jail"
    )


@pytest.mark.parametrize("who", ["weak root"], indirect=True)
def test_a_kernel_that_refuses_is_said_with_the_way_out(who: Who) -> None:
    before = (
        *("unshare", "--user", "--map-root-user", "sh", "-c"),
        'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"',
        "sh",
    )
    [sentence] = who.run(JAILER, "check", before=before)
    assert sentence == (
        "--dra-jail is not possible here: making a user and mount namespace: No space left on"
        " device; user.max_user_namespaces is 0: set it to 1000, run as root, or run without"
        " --dra-jail"
    )
