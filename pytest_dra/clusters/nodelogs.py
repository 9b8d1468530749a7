"""What the nodes of a kind cluster say of themselves: their console, kubelet and containerd."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from pytest_dra.clusters.engine import Engine
from pytest_dra.launch.tool import ToolError

NODES: Final = "nodes"
"""Name of these logs among those that are kept of a case."""

CLUSTER_LABEL: Final = "io.x-k8s.kind.cluster"
"""Label of the containers that are nodes; its value is the cluster."""

LINES: Final = 400
"""Last lines of each log that are read: a kubelet that cannot start says some 200 each time, most
of them its configuration."""

LINE_MAX: Final = 1000
"""Characters of a line that are kept."""

ANSWER_S: Final = 10.0
"""Longest wait for a log: it only explains what has failed already."""

_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r")
"""Colours of systemd's console, which is a terminal's."""


UNITS: Final = ("kubelet", "containerd")
"""Whose journals are read, each by itself: a kubelet that is started again and again says so much
that nothing is left of others."""


def logs_of(engine: Engine, cluster: str) -> str:
    """The ends of the logs of all nodes, each with a heading; as much as can be had."""
    found: list[str] = []
    names: list[str] = []
    with suppress(ToolError):
        names = sorted(engine.containers(f"{CLUSTER_LABEL}={cluster}"))
    for name in names:
        found += _lines(engine, f"{name}: console", ["logs", f"--tail={LINES}", name])
        for unit in UNITS:
            asked = ["journalctl", "--no-pager", "--quiet", f"--lines={LINES}", f"--unit={unit}"]
            found += _lines(engine, f"{name}: {unit}", ["exec", name, *asked])
    return "\n".join(found)


def _lines(engine: Engine, title: str, argv: list[str]) -> list[str]:
    with suppress(ToolError):
        lines = _CONTROL.sub("", engine.call(argv, timeout_s=ANSWER_S)).splitlines()
        return [f"--- {title}", *(line[:LINE_MAX] for line in lines[-LINES:])]
    return []
