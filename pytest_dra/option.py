"""What an option is: one name in its three spellings. Standard library only."""

from __future__ import annotations

from typing import NamedTuple


class Option(NamedTuple):
    """One option in all its spellings: ``--dra-x-y``, ini ``dra_x_y``, ``PYTEST_DRA_X_Y``."""

    name: str
    help: str
    default: str
    metavar: str = "VALUE"
    choices: tuple[str, ...] = ()
    flag: bool = False

    @property
    def dest(self) -> str:
        """Attribute in pytest's options and name in the ini file."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def is_path(self) -> bool:
        """True if the value is a path and nothing else."""
        return set(self.metavar.split("|")) <= {"FILE", "DIR", "CHART"}

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return f"PYTEST_{self.dest.upper()}"
