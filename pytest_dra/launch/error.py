"""The one error of this package."""

from __future__ import annotations


class LaunchError(Exception):
    """A driver cannot be started or kept; the text is one sentence for the user."""
