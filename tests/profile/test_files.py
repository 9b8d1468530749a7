"""A profile file that cannot even be read as data ends in one sentence, and soon."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_dra.profile import ProfileError
from pytest_dra.profile import load_profile
from tests.profile.writing import HEAD
from tests.profile.writing import TODAY
from tests.profile.writing import refused


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ProfileError) as caught:
        load_profile(tmp_path / "none.yaml")
    assert str(caught.value) == (
        f"{tmp_path}/none.yaml: there is no such file; give one with --dra-profile=FILE"
    )


def test_a_folder_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="this is no file; give one with --dra-profile=FILE"):
        load_profile(tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProfileError, match="this is no file"):
        load_profile(tmp_path / "pipe")


def test_a_file_that_may_not_be_read_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "p.yaml").touch()
    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(ProfileError, match=r"the file cannot be read: Permission denied"):
        load_profile(tmp_path / "p.yaml")


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ProfileError, match="the file cannot be read"):
        load_profile(Path("a\0b"))


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    with file.open("wb") as out:
        out.truncate(1 << 40)
    with pytest.raises(ProfileError, match="the file is larger than 256 KiB"):
        load_profile(file)


def test_other_encodings_are_refused_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(HEAD.encode() + b"driver: {name: caf\xe9}\n")
    with pytest.raises(ProfileError, match=r"p\.yaml:3: byte 0xe9 is no UTF-8"):
        load_profile(file)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    lines = refused(tmp_path, "driver: " + "[" * 5000 + "]" * 5000 + "\n")
    assert lines == ["dra-profile.yaml:3: not YAML: nested deeper than 64 levels"]


def test_aliases_that_multiply_are_refused(tmp_path: Path) -> None:
    bomb = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
    for level in range(1, 12):
        row = ", ".join([f"*x{level - 1}"] * 10)
        bomb += f"x{level}: &x{level} [{row}]\n"
    lines = refused(tmp_path, bomb)
    assert "more than 50000 values, aliases written out" in "\n".join(lines)


def test_a_number_of_many_digits_is_refused(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, f"budgets: {{repeat: {'9' * 10_000}}}\n")
    assert line.endswith("(10000 characters), which is no number that fits here")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=200))
def test_no_file_whatever_ends_in_anything_but_a_profile_error(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(data)
    with pytest.raises(ProfileError):
        load_profile(file, today=TODAY)
