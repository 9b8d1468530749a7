"""``--dra-soak`` and ``--dra-replay``: what longer and chosen histories a run is asked for."""

from __future__ import annotations

from pathlib import Path

from pytest_dra.bench.soak import Soak
from pytest_dra.checks import histories
from pytest_dra.options import OptionError
from pytest_dra.options import Settings

REPLAY_MAX = 64 * 1024
"""Bytes of a file of histories: some thousand of them, each of which takes a second."""


def soak_of(settings: Settings) -> Soak:
    """How long cases look that can look longer."""
    seed = settings["dra_soak_seed"]
    try:
        return Soak(on=settings.soaks, seed=int(seed))
    except ValueError as error:
        raise OptionError(f"--dra-soak-seed: got {seed!r}, want a whole number") from error


def replay_of(settings: Settings) -> tuple[str, ...]:
    """The histories that are to be played instead of the usual ones."""
    given = settings["dra_replay"]
    if not given:
        return ()
    try:
        with Path(given).open("rb") as file:
            data = file.read(REPLAY_MAX + 1)
        if len(data) > REPLAY_MAX:
            raise OptionError(
                f"--dra-replay: {given}: more than {REPLAY_MAX} bytes; want histories in files of "
                "at most that, played one file after the other"
            )
        return histories.from_file(data.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"--dra-replay: {given}: {error}") from error
