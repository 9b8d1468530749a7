"""Hooks that functions of pytest plugins stand for, beside or in the place of commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from pytest_dra.profile.model import DriverProfile
from pytest_dra.profile.model import HooksBlock
from pytest_dra.profile.model import Hotplug

Call = Callable[..., Any]

PREVIOUS = "previous"
"""The one that names a command, instead of doing its work."""

HOTPLUG = "hotplug"
"""The hook of two commands; its function is told which of them is meant."""


class Plugged(tuple[str, ...]):
    """A command of the profile (mostly none), and a function that is asked before it.

    ``call`` takes keywords: those of the hook, and ``more``. ``name`` is the hook's.
    """

    call: Call
    name: str
    more: Mapping[str, str]

    def __new__(
        cls,
        call: Call,
        name: str,
        command: Iterable[str] = (),
        more: Mapping[str, str] | None = None,
    ) -> Plugged:
        made = super().__new__(cls, command)
        made.call, made.name, made.more = call, name, more or {}
        return made

    def __bool__(self) -> bool:
        """True: something can be run, also without a command."""
        return True


def with_calls(profile: DriverProfile, calls: Mapping[str, Call]) -> DriverProfile:
    """The profile with functions for some of its hooks, by the hook's name.

    The commands that it has for these stay, for functions that do not answer.
    """
    blocks = profile.hooks
    fields: dict[str, Any] = {}
    for name, call in calls.items():
        if name == HOTPLUG:
            both = {
                action: Plugged(call, name, getattr(blocks.hotplug, action, ()), {"action": action})
                for action in ("add", "remove")
            }
            fields[name] = Hotplug(**both)
        else:
            fields[name] = Plugged(call, name, getattr(blocks, name))
    return dataclasses.replace(profile, hooks=dataclasses.replace(blocks, **fields))


def plugged(profile: DriverProfile) -> list[str]:
    """The names of the hooks that functions stand for."""
    names = [each.name for each in dataclasses.fields(HooksBlock)]
    fields = {name: getattr(profile.hooks, name) for name in names}
    found = {name: hook.add if isinstance(hook, Hotplug) else hook for name, hook in fields.items()}
    return [name for name, hook in found.items() if isinstance(hook, Plugged)]
