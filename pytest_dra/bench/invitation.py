"""What somebody needs to know who starts the driver by hand."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.launch import Component
from pytest_dra.launch.component import variables

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./{}\[\]-]*")
"""A value that stands in an env file as it is."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """The environment of a driver that is waited for.

    Attributes:
        variables: what a driver gets that the suite starts, less what it inherits.
        driver_dir: its data directory, or the form of it while its name is unknown.
        commands: how the profile starts it; empty if it does not say.
        within_s: how long it is waited for.
    """

    variables: Mapping[str, str]
    driver_dir: str
    commands: tuple[str, ...]
    within_s: float

    @classmethod
    def of(
        cls,
        values: Mapping[str, str],
        components: Sequence[Component],
        *,
        driver_name: str,
        within_s: float,
    ) -> Invitation:
        """From what fills placeholders, and the profile's components, if it has any.

        Raises:
            LaunchError: a component has an unknown placeholder.
        """
        filled = [component.filled(values) for component in components]
        own: dict[str, str] = {}
        for component in reversed(filled):
            own.update(component.env)
        return cls(
            variables={**variables(values), **own},
            driver_dir=f"{values['plugins_dir']}/{driver_name or 'NAME'}",
            commands=tuple(shlex.join(component.command) for component in filled),
            within_s=within_s,
        )

    def shell(self) -> list[str]:
        """Lines to paste into a shell."""
        exports = [f"export {name}={shlex.quote(text)}" for name, text in self.variables.items()]
        return [*exports, f"# the driver's data directory: {self.driver_dir}", *self._as_started()]

    def env_file(self) -> str:
        """The same for an IDE or ``docker run --env-file``: one ``NAME=value`` per line."""
        lines = [
            "# Written by pytest --dra-driver=attach; good until that run ends.",
            f"# The driver's data directory: {self.driver_dir}",
        ]
        lines += [f"{name}={_quoted(text)}" for name, text in self.variables.items()]
        return "\n".join(lines) + "\n"

    def _as_started(self) -> list[str]:
        if not self.commands:
            return []
        return ["# the profile starts it like this:", *self.commands]


def _quoted(text: str) -> str:
    if PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
