"""Commands that are run to their end: what is kept, and that nothing is waited for longer."""

from __future__ import annotations

import os
import time

import pytest

from pytest_dra.launch import LaunchError
from pytest_dra.launch import oneshot

LONG_S = 30.0


def run(
    script: str, *, timeout_s: float = LONG_S, begin: int = 100, end: int = 20
) -> oneshot.Ended:
    argv = ["/bin/sh", "-c", script]
    return oneshot.run(argv, {"PATH": os.defpath}, timeout_s=timeout_s, begin=begin, end=end)


def test_the_begin_of_what_is_printed_and_the_end_of_complaints_are_kept() -> None:
    many = "i=0; while [ $i -lt 20000 ]; do echo abcdefghi; echo complaint >&2; i=$((i+1)); done"
    found = run(f"{many}; echo the end >&2; exit 3", begin=15, end=12)
    assert (found.code, found.printed, found.complained) == (3, "abcdefghi\nabcde", "int\nthe end")


def test_a_signal_shows_and_there_is_no_input() -> None:
    assert run("cat; kill -9 $$").code == -9


def test_what_goes_on_in_the_background_is_not_waited_for() -> None:
    began = time.monotonic()
    assert run("sleep 20 & echo started").printed == "started\n"
    assert time.monotonic() - began < LONG_S / 2


def test_what_does_not_end_is_killed_with_its_children_and_its_complaint_is_told() -> None:
    with pytest.raises(LaunchError, match=r"has not ended within 0\.5 s: no device"):
        run("echo no device >&2; exec >&- 2>&-; sleep 30 & wait", timeout_s=0.5)


def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(LaunchError, match=r"/nonexistent/x: .*No such file"):
        oneshot.run(["/nonexistent/x"], {}, timeout_s=LONG_S, begin=1, end=1)
