"""What a restart of the driver's pods leaves of its slices: seen once for all cases that ask."""

from __future__ import annotations

import dataclasses
from typing import Final

from pytest_dra.checks.slices import count
from pytest_dra.live.driver import EVERY_S
from pytest_dra.live.driver import LiveDriver
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause
from pytest_dra.waiting import poll

REPUBLISHED_S: Final = 30.0
SETTLED_S: Final = 3.0
"""Until a restarted driver publishes as many devices as before, and has written what it writes."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """The driver's slices before a restart of its pods and after it."""

    before: tuple[Json, ...]
    after: tuple[Json, ...]


class Restarts:
    """The restarts of a driver in a run."""

    def __init__(self, driver: LiveDriver) -> None:
        self._driver = driver
        self._seen: Restart | None = None

    def last(self) -> Restart:
        """The last one that was watched, or one that is done now. Raises as :meth:`anew`."""
        return self._seen or self.anew()

    def anew(self) -> Restart:
        """Restart the driver, and watch.

        Raises:
            Violation: it publishes nothing, or does not come back.
            UnsupportedEnvironment: it is not ours.
        """
        driver = self._driver
        before = driver.must_publish()
        driver.restart()
        wanted, deadline = count(before), Deadline.after(REPUBLISHED_S)
        poll(lambda: count(driver.slices()) >= wanted, deadline, every_s=EVERY_S)
        # A driver that compares what is there with what it has does so when it has started.
        pause(SETTLED_S)
        self._seen = Restart(before=tuple(before), after=tuple(driver.slices()))
        return self._seen
