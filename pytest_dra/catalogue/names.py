"""Names that were mistyped: what the writer probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CLOSE = 0.6
"""Similarity from which a known name is worth showing: difflib's own value for words."""

MOST = 3
"""A longer list of suggestions helps nobody."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest known names, or nothing if none is near.

    Returns:
        ``"; did you mean PREP-006?"`` to append to a message, or ``""``. Upper and lower case
        are not told apart.
    """
    by_folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=MOST, cutoff=CLOSE)
    if not near:
        return ""
    return f"; did you mean {' or '.join(by_folded[each] for each in near)}?"
