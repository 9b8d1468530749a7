"""The verbs of the API."""

from __future__ import annotations

from typing import Final

ALL_VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
"""What most collections allow, in the order in which discovery shows it."""
