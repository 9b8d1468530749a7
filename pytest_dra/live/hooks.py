"""The profile's hooks as commands in the container of a plugin on a whole cluster."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.kube import KubeError
from pytest_dra.launch import Component
from pytest_dra.launch import LaunchError
from pytest_dra.live.driver import LiveDriver
from pytest_dra.live.node import CDI_DIRECTORIES
from pytest_dra.live.node import KUBELET
from pytest_dra.spec import UnsupportedEnvironment

HOOK_S: Final = 30.0
"""Longest run of a hook."""

SHOWN: Final = 200
"""Characters of a hook's output in a message."""


def run_hook(
    driver: LiveDriver, name: str, command: Sequence[str], values: Mapping[str, str]
) -> str:
    """Run a command of the profile's ``hooks`` in the plugin's container; what it prints.

    Args:
        driver: whose plugin it is.
        name: of the hook.
        command: with placeholders.
        values: of these, beside the usual ones; ``node`` says which plugin is meant.

    Raises:
        UnsupportedEnvironment: it cannot be run there, or fails.
    """
    known = {
        "driver_name": driver.name,
        "registry_dir": f"{KUBELET}/plugins_registry",
        "plugins_dir": f"{KUBELET}/plugins",
        "driver_dir": f"{KUBELET}/plugins/{driver.name}",
        "cdi_dir": CDI_DIRECTORIES[0],
        "static_cdi_dir": CDI_DIRECTORIES[1],
        **values,
    }
    try:
        argv = Component(name=name, command=tuple(command)).filled(known).command
        code, out, err = driver.run_in_plugin(values["node"], argv, timeout_s=HOOK_S)
    except (LaunchError, KubeError) as error:
        raise UnsupportedEnvironment(f"{name}: {error}", way_out=f"mend {name}") from error
    if code:
        raise UnsupportedEnvironment(
            f"{name} ended with {code} in the plugin's container: {err.strip()[:SHOWN]}",
            way_out=f"mend {name}",
        )
    return out
