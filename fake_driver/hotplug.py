"""Devices that change while the driver runs: the first one comes and goes, any may be faulty."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.options import Options

LOOK_S: Final = 0.1
"""How often the file is looked for."""

TAINTS: Final = "taints"
"""The feature without which faulty devices are published like any other."""

_log = logging.getLogger(__name__)


class Hotplug:
    """Follows the file of :attr:`Options.unplugged`."""

    def __init__(self, options: Options, inventory: Inventory) -> None:
        self.options = options
        self.whole = inventory

    def present(self) -> Inventory:
        """The devices that are there now."""
        found = self.whole
        if self.options.unplugged.exists():
            found = found.without_first()
        names = self.options.faulty() if TAINTS in self.options.features else frozenset()
        return self.marked(found, names) if names else found

    def marked(self, inventory: Inventory, names: frozenset[str]) -> Inventory:
        """The same with a taint on the devices that are faulty."""
        return Inventory(
            tuple(
                dataclasses.replace(
                    pool,
                    devices=tuple(
                        self.tainted(device) if device["name"] in names else device
                        for device in pool.devices
                    ),
                )
                for pool in inventory.pools
            )
        )

    def tainted(self, device: dict[str, Any]) -> dict[str, Any]:
        """A faulty device."""
        taint = {"key": f"{self.options.driver_name}/unhealthy", "effect": "NoExecute"}
        return {**device, "taints": [*device.get("taints", []), taint]}

    def follow(self, stopping: threading.Event, changed: Callable[[Inventory], bool]) -> None:
        """Call ``changed`` with each new inventory, again and again until it says True."""
        told = self.whole
        while not stopping.wait(LOOK_S):
            found = self.present()
            if found != told:
                _log.info("%d devices are there now", len(found.devices()))
                told = found if changed(found) else told
