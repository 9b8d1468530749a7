"""What drivers make in the host's own directories."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.bench import abroad
from pytest_dra.bench.abroad import Abroad
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline

NAME = "gpu.example.com"


@pytest.fixture
def host() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dra-", dir="/tmp") as made:
        for name in ("registry", "cdi", "etc"):
            (Path(made) / name).mkdir()
        yield Path(made).resolve()


def watching(host: Path, *places: str, declared: tuple[str, ...] = ()) -> Abroad:
    """Looks at these places, and at ``etc`` as a directory of all programs."""
    found = Abroad([str(host / each) for each in places], [str(host / "etc")], declared=declared)
    found.begin()
    return found


def found(what: Abroad, *words: str, pid: int = 0, case: str = "") -> dict[str, str]:
    timeline = Timeline()
    for text in (f"case {case} begins",) if case else ("case CDI-001 begins", "case CDI-001 ends"):
        timeline.add(Mark(text=text))
    what.look(words=(NAME, *words), pids=[pid] if pid else [], timeline=timeline)
    return {Path(path).name: during for path, during in what.found.items()}


def test_what_was_there_or_is_of_others_is_no_drivers(host: Path) -> None:
    (host / "cdi" / f"{NAME}.json").touch()
    what = watching(host, "cdi", "registry")
    (host / "cdi" / "other.json").write_text("{}", "utf-8")
    (host / "registry" / f"{NAME}-reg.sock").touch()
    (host / "etc" / NAME).mkdir()
    # A driver of this name lives on the machine: its name shows nothing.
    assert found(what) == {}
    assert what.unknown == [
        str(host / "cdi" / "other.json"),
        str(host / "registry" / f"{NAME}-reg.sock"),
    ]


def test_names_texts_and_claims_show_whose_a_path_is_and_the_case_is_named(host: Path) -> None:
    what = watching(host, "cdi", "registry")
    (host / "registry" / f"{NAME}-reg.sock").touch()
    assert found(what) == {f"{NAME}-reg.sock": ""}
    (host / "cdi" / "a.json").write_text('{"node": "node-a-123456"}', "utf-8")
    (host / "cdi" / "claim-0123-4567.json").touch()
    (host / "etc" / f"{NAME}.d").mkdir()
    (host / "etc" / "b.conf").write_text(NAME, "utf-8")
    assert found(what, "node-a-123456", "0123-4567", case="PREP-001") == {
        f"{NAME}-reg.sock": "",
        "a.json": "PREP-001",
        "claim-0123-4567.json": "PREP-001",
        f"{NAME}.d": "PREP-001",
    }
    assert what.unknown == []


def test_a_place_that_was_not_there_is_the_drivers_with_all_that_is_in_it(host: Path) -> None:
    what = watching(host, "run/cdi")
    (host / "run" / "cdi").mkdir(parents=True)
    (host / "run" / "cdi" / "x.json").touch()
    assert set(found(what)) == {"cdi", "x.json"}


def test_open_files_and_sockets_show_whose_they_are(host: Path) -> None:
    what = watching(host, "cdi", "registry")
    path = host / "registry" / "a.sock"
    with socket.socket(socket.AF_UNIX) as made, (host / "cdi" / "lock").open("w"):
        made.bind(str(path))
        made.listen()
        assert set(found(what, pid=os.getpid())) == {"a.sock", "lock"}


def test_declared_paths_and_what_lies_deep_are_left_out(host: Path) -> None:
    what = watching(host, "cdi", declared=(str(host / "etc" / NAME),))
    (host / "etc" / NAME).mkdir()
    deep = host / "cdi" / "a" / "b" / "c" / NAME
    deep.mkdir(parents=True)
    assert found(what) == {}


def test_traps_are_not_opened(host: Path) -> None:
    what = watching(host, "cdi")
    os.mkfifo(host / "cdi" / "fifo")
    (host / "cdi" / "link").symlink_to("/proc/kcore")
    (host / "cdi" / "large").write_bytes(b"\0" * (abroad.TEXT_BYTES + 1) + NAME.encode())
    assert found(what) == {}


def test_a_finding_says_the_first_path_and_the_way_out() -> None:
    assert abroad.told({}) == ""
    assert abroad.told({"/etc/cdi/b": ""}, after="made /etc/cdi/b") == ""
    assert abroad.told({"/etc/cdi/b": "", "/etc/cdi/a": "CDI-001"}) == (
        "the driver has made /etc/cdi/a and 1 more outside its directories: give it these by "
        "placeholders, or run it with --dra-jail"
    )
