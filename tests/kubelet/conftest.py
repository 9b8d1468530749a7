"""A short directory, a kubelet with small numbers, and plugins that are stopped at the end."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.kubelet import Kubelet
from pytest_dra.kubelet import KubeletSettings
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.kubelet.plugin import ScriptedPlugin

SMALL = KubeletSettings(
    poll_s=0.02,
    dial_s=5.0,
    get_info_s=1.0,
    backoff_s=0.05,
    backoff_limit_s=0.2,
    reconnect_s=0.1,
    reconnect_limit_s=0.1,
    wipe_delay_s=0.3,
)


@dataclasses.dataclass
class Node:
    """A node's directories, its timeline, and makers of what runs on it."""

    root: Path
    timeline: Timeline
    stack: contextlib.ExitStack
    wiped: list[str | None] = dataclasses.field(default_factory=list)

    @property
    def registry(self) -> Path:
        return self.root / "reg"

    def kubelet(
        self,
        *,
        settings: KubeletSettings = SMALL,
        kubernetes: str = "1.37",
        checkpoint: Path | None = None,
        locate: Callable[[Path], Path] | None = None,
    ) -> Kubelet:
        made = Kubelet(
            registry_dir=self.registry,
            timeline=self.timeline,
            instance="A",
            kubernetes=kubernetes,
            wipe=self.wiped.append,
            settings=settings,
            checkpoint=checkpoint,
            locate=locate,
        )
        self.stack.callback(made.stop)
        made.start()
        return made

    def plugin(self, label: str = "a", **what: Any) -> ScriptedPlugin:
        made = ScriptedPlugin(
            **{
                "socket": self.registry / f"{label}-reg.sock",
                "endpoint": self.root / f"{label}.sock",
                **what,
            }
        )
        self.stack.callback(made.stop)
        return made


@pytest.fixture
def node() -> Iterator[Node]:
    root = Path(tempfile.mkdtemp(prefix="dra-", dir="/tmp"))
    (root / "reg").mkdir()
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, root, ignore_errors=True)
        yield Node(root, Timeline(), stack)


def soon(look: Callable[[], Any], span_s: float = 15.0) -> Any:
    """Wait until ``look`` gives something true; fails the test otherwise."""
    found = poll(look, Deadline.after(span_s))
    assert found, "did not happen in time"
    return found
