"""The two versions of the CDI library whose behaviour this package knows.

1.1.0 is what containerd 2.3 and CRI-O run; 1.1.2 is the newest. Facts: the library itself, asked
by the recordings of tests/upstream/cdi.py.
"""

from __future__ import annotations

import enum

from pytest_dra.api.versions import containerd_cdi


class Library(str, enum.Enum):
    """A version of the library tags.cncf.io/container-device-interface."""

    V1_1_0 = "1.1.0"
    V1_1_2 = "1.1.2"

    @property
    def runtime(self) -> str:
        """Who reads specs with it, for messages."""
        if self is Library.V1_1_0:
            return "containerd 2.3.7 (CDI library 1.1.0)"
        return f"a container runtime with CDI library {self.value}"


def library_of(text: str) -> Library:
    """The library called ``text``; raises ValueError with the known ones."""
    try:
        return Library(text)
    except ValueError:
        known = ", ".join(item.value for item in Library)
        raise ValueError(f"CDI library: got {text!r}, want one of {known}") from None


def containerds_library(kubernetes: str) -> str:
    """The version of the library that containerd had at the time of a Kubernetes version.

    containerd 2.3.7, tried with 1.37, has 1.1.0; no containerd of before has a newer one.
    """
    return library_of(containerd_cdi(kubernetes)).value
