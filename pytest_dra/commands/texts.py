"""Texts of commands: what an option says, and what a terminal or a program is given."""

from __future__ import annotations

import json
import sys

from pytest_dra.objects.findings import printable


def gates_of(text: str) -> dict[str, bool]:
    """Feature gates of an option's text.

    Raises:
        ValueError: it is not of the form GATE=true,GATE=false.
    """
    found = {}
    for part in filter(None, text.split(",")):
        gate, _, value = part.partition("=")
        if not gate or value not in ("true", "false"):
            raise ValueError(f"--feature-gates: got {part!r}, want GATE=true or GATE=false")
        found[gate] = value == "true"
    return found


def told(text: str) -> str:
    """Text of objects as far as a terminal can be trusted with it."""
    return "\n".join(map(printable, text.split("\n")))


def write_json(value: object) -> None:
    """JSON for machines."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
