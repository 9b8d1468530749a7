"""Names that were mistyped: what the writer probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CLOSE = 0.6
"""Similarity from which a known name is worth showing: difflib's own value for words."""

MOST = 3
"""A longer list of suggestions helps nobody."""

MARGIN = 0.1
"""A name that is less similar than the nearest one by more than this was not meant."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest known names, or nothing if none is near.

    Returns:
        ``"; did you mean PREP-006?"`` to append to a message, or ``""``. Upper and lower case
        are not told apart.
    """
    by_folded = {each.casefold(): each for each in known}
    folded = name.casefold()
    near = difflib.get_close_matches(folded, by_folded, n=MOST, cutoff=CLOSE)
    if not near:
        return ""
    likeness = {each: difflib.SequenceMatcher(None, each, folded).ratio() for each in near}
    near = [each for each in near if likeness[each] >= likeness[near[0]] - MARGIN]
    return f"; did you mean {' or '.join(by_folded[each] for each in near)}?"
