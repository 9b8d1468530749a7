"""Why a pod or a claim gets no devices, and the nearest change with which it would.

Pure functions above :mod:`pytest_dra.scheduling`. Nothing here runs unless it is asked for::

    explanation = explain(scheduler, subject)
    text(explanation)   # for people
    plain(explanation)  # for JSON
"""

from __future__ import annotations

from pytest_dra.explaining.explanation import Explanation
from pytest_dra.explaining.explanation import explain
from pytest_dra.explaining.explanation import reasons_of
from pytest_dra.explaining.rendering import plain
from pytest_dra.explaining.rendering import text

__all__ = ["Explanation", "explain", "plain", "reasons_of", "text"]
