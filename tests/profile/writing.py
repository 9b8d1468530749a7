"""Profile files for tests."""

from __future__ import annotations

import datetime
import textwrap
from pathlib import Path

import pytest

from pytest_dra.profile import DriverProfile
from pytest_dra.profile import ProfileError
from pytest_dra.profile import load_profile

TODAY = datetime.date(2026, 11, 29)
HEAD = "apiVersion: pytest-dra.dev/v1alpha1\nkind: DriverProfile\n"
"""Two lines: what follows in a test begins in line 3."""


def loaded(folder: Path, body: str, *, head: str = HEAD) -> DriverProfile:
    """The profile of two head lines and ``body``."""
    file = folder / "dra-profile.yaml"
    file.write_text(head + textwrap.dedent(body), encoding="utf-8")
    return load_profile(file, today=TODAY)


def refused(folder: Path, body: str, *, head: str = HEAD) -> list[str]:
    """The lines of the message, without the folder."""
    with pytest.raises(ProfileError) as caught:
        loaded(folder, body, head=head)
    return str(caught.value).replace(f"{folder}/", "").splitlines()
