"""Programs that are called end in time, and what they said is told."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_dra.launch.tool import ERROR_TAIL
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import call
from pytest_dra.launch.tool import find
from tests.launch.conftest import gone
from tests.launch.conftest import soon


def python(code: str, *, timeout_s: float = 20.0, stdin: bytes = b"") -> str:
    return call([sys.executable, "-ISc", code], timeout_s=timeout_s, stdin=stdin)


def test_the_output_comes_back_and_the_input_arrives() -> None:
    assert python("import sys; print(sys.stdin.read().upper())", stdin=b"abc") == "ABC\n"


def test_variables_and_folder_are_added_to_those_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERE", "1")
    code = "import os; print(os.environ['HERE'], os.environ['MORE'], os.getcwd())"
    argv = [sys.executable, "-ISc", code]
    said = call(argv, timeout_s=20, env={"MORE": "2"}, cwd=tmp_path)
    assert said.split() == ["1", "2", str(tmp_path.resolve())]


def test_a_failure_has_the_status_and_the_end_of_what_was_said() -> None:
    code = "import sys; sys.stderr.write('x' * 5000 + ' at last'); sys.exit(5)"
    with pytest.raises(ToolError) as caught:
        python(code)
    assert caught.value.code == 5
    assert caught.value.said.endswith("x at last")
    assert len(caught.value.said) == ERROR_TAIL


def test_one_that_has_not_ended_is_killed_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
        "print('working', flush=True)\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(ToolError, match=r"has not ended after 3 s: working$") as caught:
        python(code, timeout_s=3)
    assert caught.value.code is None
    soon(lambda: gone(int(pid.read_text())))


def test_a_program_that_is_not_there_cannot_be_run() -> None:
    assert find("no-such-program") is None
    assert find(sys.executable) == sys.executable
    with pytest.raises(ToolError, match=r"^no-such-program cannot be run: "):
        call(["no-such-program"], timeout_s=1)
    with pytest.raises(ToolError, match="cannot be run"):
        call(["a\0b"], timeout_s=1)


def test_it_leads_a_process_group_of_its_own() -> None:
    assert python("import os; print(os.getpgid(0) == os.getpid())") == "True\n"
    assert os.getpgid(0) != 0
