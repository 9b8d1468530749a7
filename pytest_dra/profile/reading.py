"""From a file to a :class:`DriverProfile`, or to everything that is wrong with it."""

from __future__ import annotations

import datetime
import stat
from pathlib import Path

from pytest_dra.profile.model import DriverProfile
from pytest_dra.profile.problems import Problem
from pytest_dra.profile.problems import ProfileError
from pytest_dra.spec import Json

SIZE_LIMIT = 256 * 1024
"""Bytes of a profile file: a hundred times an ordinary one; PyYAML needs seconds for more."""

SIZE_LIMIT_TEXT = "256 KiB"

OPTION = "--dra-profile"
"""What names the file on pytest's command line; other commands have a name of their own for it."""

LOOKED_AT_BY = {"driver": {"launch"}, "injection": {"features"}}
"""Blocks by the blocks whose rules depend on them: ``driver.scope`` decides who registers."""


def load_profile(
    path: Path, *, today: datetime.date | None = None, option: str = OPTION
) -> DriverProfile:
    """Read and check a profile file.

    Args:
        path: the file; messages show it as it is given here.
        today: the day on which its waivers must be valid; None is today (UTC).
        option: by which the user has given it, for messages.

    Raises:
        ProfileError: the file cannot be read, is no YAML, has not the form of ``schema.json`` or
            breaks a rule; all that can be told at once, sorted by line.
    """
    from pytest_dra.profile import document as documents
    from pytest_dra.profile import form
    from pytest_dra.profile import rules
    from pytest_dra.profile.building import built

    name = str(path)
    document = documents.read_document(_text(path, option))
    if document.data is None and not document.problems:
        raise ProfileError(name, [_whole("the file is empty, want apiVersion and kind")])
    if document.data is None:
        raise ProfileError(name, document.problems)
    if today is None:
        today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    told = {each.path for each in document.problems}
    # what is told already has no value, which is no second problem
    formal = [each for each in form.breaches(document) if each.path not in told]
    problems = [*document.problems, *formal]
    data = document.data
    if not isinstance(data, dict):
        raise ProfileError(name, problems)
    problems += rules.breaches(document, _sound(data, problems), today=today)
    if problems:
        raise ProfileError(name, problems)
    return built(path, data)


def _sound(data: Json, problems: list[Problem]) -> Json:
    """The blocks of right form, without those whose rules look at a block that is not."""
    broken = {each.path.partition(".")[0].partition("[")[0] for each in problems}
    for block, others in LOOKED_AT_BY.items():
        if block in broken:
            broken |= others
    return {name: block for name, block in data.items() if name not in broken}


def _whole(message: str) -> Problem:
    """A problem of the file as a whole."""
    return Problem(0, 0, "", message)


def _text(path: Path, option: str) -> str:
    """The text of an ordinary, small UTF-8 file."""
    name, way_out = str(path), f"give one with {option}=FILE"
    try:
        # a FIFO would block the open, and a device never ends
        if not stat.S_ISREG(path.stat().st_mode):
            raise ProfileError(name, [_whole(f"this is no file; {way_out}")])
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise ProfileError(name, [_whole(f"there is no such file; {way_out}")]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ProfileError(name, [_whole(f"the file cannot be read: {reason}")]) from error
    if len(data) > SIZE_LIMIT:
        message = f"the file is larger than {SIZE_LIMIT_TEXT}; a profile needs far less"
        raise ProfileError(name, [_whole(message)])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"byte 0x{data[error.start]:02x} is no UTF-8; save the file as UTF-8"
        raise ProfileError(name, [Problem(line, column, "", message)]) from error
