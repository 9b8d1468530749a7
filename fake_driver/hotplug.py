"""A device that comes and goes: the first one, as a file says."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.options import Options

LOOK_S: Final = 0.1
"""How often the file is looked for."""

_log = logging.getLogger(__name__)


class Hotplug:
    """Follows the file of :attr:`Options.unplugged`."""

    def __init__(self, options: Options, inventory: Inventory) -> None:
        self.options = options
        self.whole = inventory

    def present(self) -> Inventory:
        """The devices that are there now."""
        if self.options.unplugged.exists():
            return self.whole.without_first()
        return self.whole

    def follow(self, stopping: threading.Event, changed: Callable[[Inventory], bool]) -> None:
        """Call ``changed`` with each new inventory, again and again until it says True."""
        told = self.whole
        while not stopping.wait(LOOK_S):
            found = self.present()
            if found != told:
                _log.info("%d devices are there now", len(found.devices()))
                told = found if changed(found) else told
