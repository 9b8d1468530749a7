"""The recordings of the real kubelet: the full ones, and the reduced ones that are kept here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_dra.spec import Json
from tests.upstream.kubelet_reduction import reduced
from tests.upstream.kubelet_scope import reason

VERSIONS = ("1.37", "1.34")
"""Kubelets of which there are recordings."""

REDUCED = Path(__file__).with_name("kubelet.json")
"""The reduced recordings that are kept here: version -> scenario -> facts."""

REPEATED = ("path", "error")
"""Parts of a call that are kept only where they change."""


def kept() -> Json:
    """The reduced recordings that are kept here."""
    made: Json = json.loads(REDUCED.read_text())
    for scenarios in made.values():
        for scenario in scenarios.values():
            _expand(scenario.get("saw", ()))
    return made


def _expand(saw: list[list[Any]]) -> None:
    last: dict[tuple[str, str, str], str] = {}
    for _, lane, what in saw:
        for key in REPEATED:
            if what[0] == "call" and key in what[2]:
                known = last.get((lane, what[1], key), "")
                text = last[lane, what[1], key] = what[2][key] or known
                what[2][key] = text


def _squeeze(saw: list[list[Any]]) -> None:
    last: dict[tuple[str, str, str], str] = {}
    for _, lane, what in saw:
        for key in REPEATED:
            if what[0] == "call" and key in what[2]:
                text = what[2][key]
                if last.get((lane, what[1], key)) == text:
                    what[2][key] = ""
                last[lane, what[1], key] = text


def read(directory: Path, version: str) -> Json:
    """All scenarios of one version below a directory of full recordings, reduced.

    Empty: the scenario is not held against ours.
    """
    made: Json = {}
    for path in sorted((directory / version).glob("*.json")):
        is_out = reason(path.stem, version)
        made[path.stem] = {} if is_out else reduced(path.stem, json.loads(path.read_text()))
    return made


def keep(directory: Path) -> None:
    """Reduce the recordings below ``directory`` and keep them here."""
    lines = []
    for version in VERSIONS:
        every = read(directory, version)
        for scenario in every.values():
            _squeeze(scenario.get("saw", ()))
        scenarios = [
            f"{json.dumps(name)}:{json.dumps(scenario, separators=(',', ':'))}"
            for name, scenario in every.items()
        ]
        lines.append(f"{json.dumps(version)}:{{\n" + ",\n".join(scenarios) + "\n}")
    REDUCED.write_text("{" + ",\n".join(lines) + "}\n")
