"""Placeholders in braces, filled in."""

from __future__ import annotations

import string
from collections.abc import Mapping

from pytest_dra.launch.error import LaunchError


def fill(text: str, values: Mapping[str, str], *, where: str) -> str:
    """``text`` with its placeholders replaced by ``values``.

    Raises:
        LaunchError: an unknown placeholder or a lone brace; ``where`` begins the sentence.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise LaunchError(
            f"{where}: {text!r} has a lone brace ({error}); write {{{{ or }}}} for a brace"
        ) from error
    made = []
    for literal, name, spec, conversion in parts:
        made.append(literal)
        if name is None:
            continue
        if name not in values or spec or conversion:
            known = ", ".join(f"{{{known}}}" for known in values)
            shown = f"{{{name}}}" if name in values else f"placeholder {{{name}}}"
            problem = "takes no format" if name in values else "is unknown"
            raise LaunchError(
                f"{where}: {shown} in {text!r} {problem}; known are {known};"
                " write {{ or }} for a brace"
            )
        made.append(values[name])
    return "".join(made)
