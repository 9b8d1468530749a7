"""What must not be told: the values of opaque parameters."""

from __future__ import annotations

import copy
from typing import Final

from pytest_dra.spec import Json
from pytest_dra.spec import Violation

SHOWN: Final = 60
"""Characters of a line on either side of the secret that are shown."""


def with_text(parameters: Json, field: str, text: str) -> Json:
    """A copy of opaque parameters with ``text`` in a field; ``field`` is a path such as ``a.b``.

    Raises:
        ValueError: something on the way is no object.
    """
    made = copy.deepcopy(parameters)
    *way, last = field.split(".")
    place = made
    for step in way:
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            raise ValueError(f"{step} of {field} is no object")
    place[last] = text
    return made


def must_not_be_logged(output: str, secret: str, *, what: str) -> None:
    """A driver's output does not have the text.

    Args:
        output: all of it.
        secret: the text.
        what: where it stood.
    """
    before, found, after = output.partition(secret)
    if found:
        line = before.rpartition("\n")[2][-SHOWN:] + found + after.partition("\n")[0][:SHOWN]
        raise Violation(
            f"the driver's output after Prepare of {what}",
            got=f"a line with it: ...{line}",
            want="no values of opaque parameters, which may be secrets",
        )
