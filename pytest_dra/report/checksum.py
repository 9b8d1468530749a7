"""The checksum of a report, by which an unmodified one is known.

It is made of the data and not of the file's bytes, and without times: a report that has only been
laid out anew is still the same, and equal runs have equal checksums. It protects against mistakes;
whoever changes a report on purpose makes a new one.
"""

from __future__ import annotations

import hashlib
import json

from pytest_dra.spec import Json

FIELD = "checksum"
ALGORITHM = "sha256"

TIMES = frozenset({"startedAt", "durationSeconds"})
"""Fields left out wherever they occur."""

LEFT_OUT = frozenset({FIELD, "figures"})
"""Fields of the report that are left out."""


def checksum(data: Json) -> str:
    """``sha256:...`` of a report's data."""
    rest = _timeless({key: each for key, each in data.items() if key not in LEFT_OUT})
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return f"{ALGORITHM}:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _timeless(each) for key, each in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [_timeless(each) for each in value]
    return value
