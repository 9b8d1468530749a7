"""Making a script that shows a difference small: fewer steps, fewer edits, fewer options.

Hypothesis shrinks better, in minutes; this takes seconds, and every step is kept as it was drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from pytest_dra.spec import Json

Shows = Callable[[Json], bool]


def shrunk(script: Json, step: str, shows: Shows) -> Json:
    """The smallest script found that still ``shows`` the difference at ``step``."""
    best = copy.deepcopy(script)
    last = next(n for n, each in enumerate(best["steps"]) if each.get("id") == step)
    best = _kept(best, {**best, "steps": best["steps"][: last + 1]}, shows)
    for index in reversed(range(len(best["steps"]) - 1)):
        steps = best["steps"]
        best = _kept(best, {**best, "steps": steps[:index] + steps[index + 1 :]}, shows)
    for index in range(len(best["steps"])):
        for path in list(_options(best["steps"][index])):
            less = copy.deepcopy(best)
            _drop(less["steps"][index], path)
            best = _kept(best, less, shows)
    return best


def _kept(best: Json, less: Json, shows: Shows) -> Json:
    return less if shows(less) else best


def _options(step: Json) -> Iterator[list[str]]:
    for part in ("query", "headers"):
        yield from ([part, name] for name in step.get(part, {}))
    body = step.get("body")
    if isinstance(body, dict):
        yield from (["body", name] for name in body if not name.startswith("$") and name != "set")
        yield from (
            ["body", "set", name] for name in body.get("set", {}) if name != "metadata.name"
        )


def _drop(step: Json, path: list[str]) -> None:
    value: Any = step
    for name in path[:-1]:
        value = value[name]
    value.pop(path[-1])
