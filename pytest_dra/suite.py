"""Which tests a run collects: the packaged cases, the user's own, or both.

Standard library only, and nothing of pytest: arguments in, arguments out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from typing import NamedTuple

from pytest_dra.options import OptionError
from pytest_dra.options import Settings

CASE_FOLDER: Final = "conformance"
CASE_MODULE: Final = f"pytest_dra.{CASE_FOLDER}"
LOCK_FILE: Final = "CASES.lock"
"""The file by which a folder of cases is known, in checkouts, links and site-packages alike."""


class Collection(NamedTuple):
    """What pytest is told to collect.

    Attributes:
        paths: its positional arguments.
        asked: the cases were asked for, so that a run without them is no success.
    """

    paths: tuple[str, ...]
    asked: bool


def collection_of(settings: Settings, paths: Sequence[str], *, given: bool) -> Collection:
    """Apply ``--dra-suite``.

    ``auto``: paths on the command line are taken as they are; else a driver named there brings the
    cases alone, and one from the environment or the ini file brings them beside the user's tests.

    Args:
        settings: of the run.
        paths: what pytest would collect: those given, ``testpaths``, or the current directory.
        given: True for those on the command line.

    Raises:
        OptionError: the paths name the cases, and there is no driver to judge.
    """
    which = settings["dra_suite"] if settings.active else "off"
    if which == "off":
        _no_cases_among(paths)
    if which == "auto":
        if given:
            return Collection(tuple(paths), asked=False)
        which = "only" if settings.asked_on_command_line else "with"
    if which == "only":
        return Collection((str(case_directory()),), asked=True)
    if which == "with":
        return Collection((*paths, str(case_directory())), asked=True)
    return Collection(tuple(paths), asked=False)


def objects_collected(settings: Settings, paths: Sequence[str], *, given: bool) -> list[str]:
    """What is collected with ``--dra-objects``: its cases, and paths that are given beside it."""
    which = settings["dra_suite"]
    if which == "off":
        return list(paths)
    beside = which == "with" or (which == "auto" and given)
    return [*(paths if beside else ()), str(case_directory())]


def case_directory() -> Path:
    """The folder of the packaged cases, found without importing it."""
    return Path(__file__).parent / CASE_FOLDER


def is_case_directory(path: Path) -> bool:
    """True for any folder of cases: the packaged one, or a copy or link of it."""
    return path.name == CASE_FOLDER and (path / LOCK_FILE).is_file()


def is_the_packaged(path: Path) -> bool:
    """True if a folder of cases is the one of this package, by whatever way the path goes.

    In a checkout the folder stands at the top, too: collected there, each case would run twice.
    """
    return path.parent.resolve() == case_directory().parent.resolve()


def _no_cases_among(paths: Sequence[str]) -> None:
    for path in paths:
        name = path.partition("::")[0]
        folder = Path(os.path.normpath(name))
        named = (folder, folder.parent) if name.endswith(".py") else (folder,)
        if name.split(".")[:2] == CASE_MODULE.split(".") or any(map(is_case_directory, named)):
            raise OptionError(
                f"{path}: the cases need a driver to judge; "
                "add --dra-driver=fake or --dra-driver='exec:COMMAND LINE'"
            )
