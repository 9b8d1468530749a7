"""Where the processes of a driver run, if not simply on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pytest_dra.launch.component import Component
from pytest_dra.launch.component import Ready
from pytest_dra.launch.process import Process


class Lodging(Protocol):
    """See the module."""

    def ready(
        self,
        component: Component,
        *,
        values: Mapping[str, str],
        account: Mapping[str, str],
        cwd: Path,
    ) -> Ready:
        """What the keeper executes for a component; arguments and errors as ``ready_here``'s."""

    def begun(self, process: Process, ready: Ready) -> Process:
        """What the keeper has started, as the component's process.

        Raises:
            LaunchError: it has not become one.
        """
