"""Several runs of pytest in one process, in turn: ``python -m tests.variants.together``.

Standard input is a JSON list with the arguments of each run. What each says is in its report.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import pytest


def main(runs: Sequence[Sequence[str]]) -> None:
    """Run pytest with each list of arguments."""
    for arguments in runs:
        pytest.main(list(arguments))


if __name__ == "__main__":
    main(json.load(sys.stdin))
