"""What is wrong with a profile file, told so that an editor can jump there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Sequence

from pytest_dra.spec import Json

MOST_SHOWN = 20
"""Problems that a message lists: a screenful; behind them only their number is said."""

GOT_LIMIT = 120
"""Characters of a value that a message quotes: enough to recognise it, and one line."""

Step = str | int
Path = tuple[Step, ...]
"""The way to a value from the top of the document: keys and list indices."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong. ``line`` and ``column`` count from 1; 0 means the whole file."""

    line: int
    column: int
    path: str
    message: str

    def text(self, file: str) -> str:
        """One line: ``dra-profile.yaml:12: budgets.repeat: got 'x', want ...``."""
        place = f"{file}:{self.line}" if self.line else file
        return ": ".join(part for part in (place, self.path, self.message) if part)


class ProfileError(Exception):
    """The profile file cannot be used.

    Args:
        file: the path as the user gave it.
        problems: all that was found, in any order; kept sorted by line, without doubles.
    """

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems: Sequence[Problem] = tuple(sorted(set(problems)))
        super().__init__(file)

    def __str__(self) -> str:
        lines = [each.text(self.file) for each in self.problems[:MOST_SHOWN]]
        more = len(self.problems) - len(lines)
        if more > 0:
            lines.append(f"{self.file}: {more} more problems are not shown")
        return "\n".join(lines)


def spelled(path: Path) -> str:
    """``("launch", "components", 0, "command")`` as ``launch.components[0].command``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isprintable() and step and "." not in step:
            text += f".{step}" if text else step
        else:
            text += f"[{shown(step)}]"
    return text


def shown(value: Json | list[object] | object) -> str:
    """A value of the file, short and without control characters."""
    if isinstance(value, dict):
        return f"a mapping of {len(value)} keys" if value else "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)} items" if value else "an empty list"
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and len(value) > GOT_LIMIT:
        return f"{value[:GOT_LIMIT]!r}... ({len(value)} characters)"
    text = repr(value)
    return text if len(text) <= GOT_LIMIT else f"{text[:GOT_LIMIT]}... ({len(text)} characters)"
