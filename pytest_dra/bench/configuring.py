"""What claims are configured with by their class: nothing, unless the driver needs it.

A driver may refuse claims without configuration, because its own DeviceClass always brings some. It
says so in ``driver.class_config_required``; one that does not is told by one case, and judged by
the others with a configuration that it accepts.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Final

from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Json

FROM_CLASS: Final = "FromClass"
FROM_CLAIM: Final = "FromClaim"
"""Where an entry of an allocation's configuration comes from."""


class Configuring:
    """The configuration that stands for the class of every claim.

    Args:
        profile: its ``samples.good_config`` has what the driver accepts.
        driver: gives the driver's name.
    """

    def __init__(self, profile: DriverProfile, driver: Callable[[], str]) -> None:
        self._samples = profile.samples.good_config
        self._driver = driver
        self.needed = profile.driver.class_config_required

    def entries(self) -> Sequence[Json]:
        """Entries of ``allocation.devices.config``, as a class would bring them."""
        if not self.needed or not self._samples:
            return ()
        return entries(self._driver(), self._samples[0], source=FROM_CLASS)

    def may_help(self) -> bool:
        """True if a claim that was refused without configuration can be tried with some."""
        return not self.needed and bool(self._samples)


def entries(
    driver: str, parameters: Json, *, requests: Sequence[str] = (), source: str = FROM_CLAIM
) -> list[Json]:
    """One entry of an allocation's configuration, for these requests or for all."""
    opaque = {"driver": driver, "parameters": parameters}
    return [{"source": source, "requests": list(requests), "opaque": opaque}]
