"""Which cases run: patterns of ``--dra-case`` against the ids of the suite."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Collection
from collections.abc import Mapping

from pytest_dra.catalogue import catalogue


class SelectionError(Exception):
    """A pattern matches no case."""


def select(
    patterns: str,
    implemented: Collection[str],
    known: Collection[str],
    *,
    elsewhere: Mapping[str, Collection[str]] | None = None,
) -> frozenset[str]:
    """The case ids that a comma separated list names: ids, areas, patterns, conformance profiles.

    Args:
        patterns: such as ``PREP-006,IDEM-*,REG``; empty selects all.
        implemented: ids that this run can judge.
        known: ids of the whole catalogue, for the message.
        elsewhere: ids that another run could judge, by what that one would be given.

    Raises:
        SelectionError: one of the patterns matches nothing, with what was perhaps meant.
    """
    words = [word.strip().upper() for word in patterns.split(",") if word.strip()]
    if not words:
        if patterns.strip():
            raise SelectionError(f"--dra-case={patterns}: names no case")
        return frozenset(implemented)
    chosen: set[str] = set()
    for word in words:
        matched = _matches(word, implemented)
        if not matched:
            raise SelectionError(_nothing(word, implemented, known, elsewhere or {}))
        chosen |= matched
    return frozenset(chosen)


def _matches(word: str, ids: Collection[str]) -> set[str]:
    if word in catalogue().profiles:
        known = catalogue().cases
        return {id for id in ids if id in known and word in known[id].profiles}
    return {id for id in ids if fnmatch.fnmatchcase(id, word) or id.split("-")[0] == word}


def _nothing(
    word: str,
    implemented: Collection[str],
    known: Collection[str],
    elsewhere: Mapping[str, Collection[str]],
) -> str:
    for given, ids in elsewhere.items():
        if _matches(word, ids):
            return f"--dra-case={word}: is judged with {given}"
    if _matches(word, known):
        return f"--dra-case={word}: in the catalogue, but not in this release of the suite"
    area, dash, number = word.partition("-")
    meant = f"{area}-{number:0>3}" if dash and number.isdigit() else word
    near = difflib.get_close_matches(meant, sorted(implemented), n=3)
    areas = ", ".join(sorted({id.split("-")[0] for id in implemented}))
    hint = f"did you mean {', '.join(near)}?" if near else f"areas are {areas}"
    return f"--dra-case={word}: matches no case; {hint}"
