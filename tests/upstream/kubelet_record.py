"""Writes what a plugin saw of our kubelet as recordings of the oracle's own form.

With them its ``compare.py`` can judge, which shares nothing with ``kubelet_compare``.
"""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

from pytest_dra.spec import Json
from tests.upstream.kubelet_compare import without_resets

PLUGIN_LANES = ("reg", "dra")

COUNTED = ("open", "call", "cancelled")
"""What ``compare.py`` compares besides answers."""


def recording(name: str, scenario: Json, seen: list[list[Any]]) -> Json:
    """One recording: connections, calls, resets and answers up to the real one's end.

    What ours does a moment after it is in it as far as the real one had done it by then.
    """
    ends = [act[0] for act in scenario["do"] if act[1] in ("stop", "reboot")]
    wanted = collections.Counter(row[1] for row in scenario["saw"] if row[2][0] in COUNTED)
    timeline = []
    for at, lane, what in without_resets(seen, ends):
        wanted[lane] -= what[0] in COUNTED
        if lane.partition("/")[2] not in PLUGIN_LANES:
            continue
        if at <= scenario["until"] or wanted[lane] >= 0:
            timeline.append(_entry(at, lane, what))
    return {"scenario": name, "about": "the kubelet stand-in", "timeline": timeline}


def write(directory: Path, made: Json) -> None:
    """Write a recording below ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{made['scenario']}.json").write_text(json.dumps(made))


def _entry(at: float, lane: str, what: list[Any]) -> Json:
    label, _, sock = lane.partition("/")
    entry: Json = {"t": at, "plugin": label, "sock": sock, "ev": what[0]}
    if len(what) > 1:
        entry["method"] = what[1]
    if what[0] == "call":
        entry |= {key: value for key, value in what[2].items() if key not in ("claims", "path")}
        entry["claims"] = [{"name": claim} for claim in what[2].get("claims", ())]
    elif what[0] == "answer" and len(what) > len(("answer", "method")):
        entry["code"] = what[2]
    return entry
