"""The process of a container is known by its cgroup, or by the parent that the engine gave it."""

from __future__ import annotations

import subprocess
import sys

from pytest_dra.containers.process import _is_of

ID = "6cf441b3f74c825d0ded4010152829f6c061a3bb74ddbd3ed174e02a08741742"

CONMON = """\
import subprocess, sys
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
child.wait()
"""


def test_a_process_without_cgroup_is_known_by_its_parent_s_arguments() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", CONMON, "-c", ID], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    try:
        pid = int(parent.stdout.readline())
        assert _is_of(ID, pid)
        assert not _is_of(ID[::-1], pid)
        assert not _is_of(ID, parent.pid)
    finally:
        parent.stdin.close()
        parent.wait(20.0)
        parent.stdout.close()
    assert not _is_of(ID, pid)
