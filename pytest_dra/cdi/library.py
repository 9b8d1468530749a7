"""The two versions of the CDI library whose behaviour this package knows.

1.1.0 is what containerd 2.3 and CRI-O run; 1.1.2 is the newest. Facts: the library itself, asked
by the recordings of tests/upstream/cdi.py.
"""

from __future__ import annotations

import enum


class Library(str, enum.Enum):
    """A version of the library tags.cncf.io/container-device-interface."""

    V1_1_0 = "1.1.0"
    V1_1_2 = "1.1.2"


def library_of(text: str) -> Library:
    """The library called ``text``; raises ValueError with the known ones."""
    try:
        return Library(text)
    except ValueError:
        known = ", ".join(item.value for item in Library)
        raise ValueError(f"CDI library: got {text!r}, want one of {known}") from None
