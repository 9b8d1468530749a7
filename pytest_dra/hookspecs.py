"""Hooks that a vendor's plugin or conftest can implement in the place of the profile's commands.

Each has the name of a field of the profile's ``hooks``; ``previous`` is that of ``launch``. A hook
gets as ``driver`` what the placeholders of a command would be (``node``, ``driver_dir``,
``kubeconfig``, ``pod_uid`` ...), and what it is about. It returns the text that a command would
have printed, or True; None leaves the matter to the next plugin, and in the end to the command.

Imported by every run of pytest: the standard library and pytest only.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import pytest

PREFIX: Final = "pytest_dra_"

NAMES: Final = (
    "observe",
    "inventory",
    "fault",
    "heal",
    "hotplug",
    "crash_point",
    "metadata_update",
    "previous",
)

Printed = str | bool | None
"""What a command would have printed; True for nothing, None where the hook does not know how."""

Values = Mapping[str, str]


def implemented(config: pytest.Config) -> dict[str, Callable[..., Any]]:
    """The hooks that somebody implements, by their names without the prefix.

    A conftest that pytest finds only while it collects comes too late.
    """
    found = {name: getattr(config.hook, f"{PREFIX}{name}") for name in NAMES}
    return {name: call for name, call in found.items() if call.get_hookimpls()}


@pytest.hookspec(firstresult=True)
def pytest_dra_observe(
    driver: Values, claim_uid: str, claim_name: str, claim_namespace: str, pool: str, device: str
) -> Printed:
    """Say what is set for a device of a prepared claim; the same text for equal settings."""


@pytest.hookspec(firstresult=True)
def pytest_dra_inventory(driver: Values) -> Printed:
    """Say what there is of hardware, partitions included, one on a line."""


@pytest.hookspec(firstresult=True)
def pytest_dra_fault(driver: Values, pool: str, device: str) -> Printed:
    """Make a device faulty."""


@pytest.hookspec(firstresult=True)
def pytest_dra_heal(driver: Values, pool: str, device: str) -> Printed:
    """Mend it again."""


@pytest.hookspec(firstresult=True)
def pytest_dra_hotplug(driver: Values, action: str) -> Printed:
    """Take a device away (``action`` is ``remove``), or bring it back (``add``)."""


@pytest.hookspec(firstresult=True)
def pytest_dra_crash_point(driver: Values, method: str, number: str) -> Printed:
    """Let the next call of a method end the driver at its ``number``-th point, counted from 1."""


@pytest.hookspec(firstresult=True)
def pytest_dra_metadata_update(
    driver: Values, claim_uid: str, claim_name: str, claim_namespace: str, pool: str, device: str
) -> Printed:
    """Have the driver update the metadata of a prepared claim's device."""


@pytest.hookspec(firstresult=True)
def pytest_dra_previous() -> Sequence[str] | None:
    """The command of the previous release, as an argument list with placeholders."""
