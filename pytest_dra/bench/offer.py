"""What the driver under test offers: its slices and devices, found once per run."""

from __future__ import annotations

from collections.abc import Callable

from pytest_dra.bench.devices import Device
from pytest_dra.bench.instance import Instance
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Hardware
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

PUBLISHED = "SLICE-001"
"""The case that says that devices are published at all."""


class Offer:
    """Asks the driver as late as possible, and waits for one that publishes nothing only once.

    Args:
        instance: gives the driver under test, and starts it at the first call.
    """

    def __init__(self, instance: Callable[[], Instance]) -> None:
        self._instance = instance
        self._published: list[Json] | None = None
        self.settled_serial = 0
        self._devices: list[Device] | None = None
        self._counted = False
        self._barren = False

    def wait(self) -> list[Json]:
        """Wait until something is published; returns the slices as they are then."""
        instance = self._instance()
        if self._barren:
            return instance.slices()
        found = instance.wait_published()
        # One that has ended by itself does so again, which is soon seen, and explains what is not.
        self._barren = not instance.has_published and not instance.over
        return found

    def published(self) -> list[Json]:
        """The slices once publishing has settled, as they were at the first call."""
        if self._published is None:
            self.wait()
            self._instance().settle()
            self._published = self._instance().slices()
            # What was published last counts too, from here on.
            self._devices = self._instance().devices()
            self.settled_serial = len(self._instance().timeline)
        return self._published

    def devices(self, count: int) -> list[Device]:
        """Every free device, plain ones first, by name.

        Raises:
            UnsupportedEnvironment: fewer than ``count``, also once publishing has settled.
        """
        if self._devices is None:
            self.wait()
            self._devices = self._instance().devices()
        if len(self._devices) < count and not self._counted:
            self._counted = True
            self._instance().settle()
            self._devices = self._instance().devices()
        if len(self._devices) < count:
            raise UnsupportedEnvironment(
                f"needs {count} free devices, the driver publishes {len(self._devices)}",
                way_out="let the driver publish more (launch.components, simulated hardware)",
            )
        return self._devices

    def whole_devices(self) -> list[Device]:
        """All devices that can be given away whole; the first one if there is none."""
        every = self.devices(1)
        return [device for device in every if device.plain] or every[:1]

    def one_of_each_kind(self, attribute: str) -> list[Device]:
        """One free device per value of an attribute."""
        kinds: dict[str, Device] = {}
        for device in self.whole_devices():
            kinds.setdefault(str(device.attribute(attribute)), device)
        return list(kinds.values())


def nothing_offered(profile: DriverProfile) -> Blocked | UnsupportedEnvironment:
    """What a case raises that needs devices where none is published."""
    if profile.launch.hardware is Hardware.NONE:
        return UnsupportedEnvironment(
            "needs devices, and launch.hardware is none",
            way_out="give the driver devices (real or simulated hardware), and say so",
        )
    finding = Violation(
        "devices in the slices of the driver",
        got="none is published any more",
        want="devices, as there were before",
    )
    return Blocked(PUBLISHED, finding)
