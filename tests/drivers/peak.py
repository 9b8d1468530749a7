"""A plugin of pytest that notes how much memory its process has used at most.

Not ``resource``: what it tells of a process counts in what the parent had when it forked.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

FILE = "DRA_DRIVERS_PEAK"
"""Environment variable with the path of the file."""

PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def pytest_unconfigure() -> None:
    """Write the figure, in kB."""
    found = PEAK.search(Path("/proc/self/status").read_text("utf-8"))
    if found is not None and FILE in os.environ:
        Path(os.environ[FILE]).write_text(found[1], "utf-8")
