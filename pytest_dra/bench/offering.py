"""What cases take of the driver's devices: a part of the bench.

Some drivers do not give every device to any claim at any time, and say so in the profile: all
devices of a node go to one claim (``driver.takes_all_devices``), or a pod has one claim of theirs
(``driver.one_claim_per_pod``). What needs the opposite does not concern them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Sequence
from typing import TypeVar

from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.devices import Device
from pytest_dra.bench.offer import Offer
from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

Found = TypeVar("Found")


class Offering:
    """The driver's slices and devices, and which of them claims can hold."""

    def __init__(self, offer: Offer, profile: DriverProfile) -> None:
        self.profile = profile
        self._offer = offer

    def published(self) -> list[Json]:
        """The driver's slices once publishing has settled, as they were before any disturbance."""
        return self._offer.published()

    @property
    def settled_serial(self) -> int:
        """Where on the timeline :meth:`published` first saw that publishing had settled."""
        return self._offer.settled_serial

    def settled(self) -> int:
        """Wait until publishing has settled; :attr:`settled_serial`."""
        self.published()
        return self.settled_serial

    def wait_published(self) -> list[Json]:
        """Wait until something is published; a driver that never did is waited for only once."""
        return self._offer.wait()

    def look_for(self, find: Callable[[], Found | None]) -> Found | None:
        """What ``find`` finds once something is published, else once publishing has settled."""
        for wait in (self.wait_published, self.published):
            wait()
            found = find()
            if found is not None:
                return found
        return None

    def devices(self, count: int, *, in_one_claim: bool = False) -> list[Device]:
        """``count`` free devices, plain ones first, by name, for as many claims.

        Args:
            count: how many.
            in_one_claim: one claim is to hold them all.

        Raises:
            UnsupportedEnvironment: the driver has fewer.
            NotApplicable: the driver never gives devices to several claims at a time.
        """
        if count > 1 and not in_one_claim and self.profile.driver.takes_all_devices:
            raise NotApplicable("driver.takes_all_devices: one claim holds every device")
        return self._offer.devices(count)[:count]

    def up_to(self, count: int) -> list[Device]:
        """Free devices for ``count`` claims at a time, or for one where the driver has but one."""
        return self.devices(1 if self.profile.driver.takes_all_devices else count)

    def batch(self, count: int, *, at_most: int) -> list[Device]:
        """Free devices for the claims of one call, ``count`` or more; one where a call has one."""
        driver = self.profile.driver
        if driver.takes_all_devices or driver.one_claim_per_pod:
            return self.devices(1)
        return self._offer.devices(count)[:at_most]

    def together(self, device: Device) -> tuple[Device, ...]:
        """What a claim holds that holds this device: nothing else, unless the profile says so."""
        return self.completed([Wanted(request="", devices=(device,))])[0].devices

    def completed(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        """The requests of a claim; the first one gets what the claim must hold besides."""
        if not self.profile.driver.takes_all_devices:
            return list(wanted)
        first, *others = wanted
        held = {(device.pool, device.name) for each in wanted for device in each.devices}
        rest = [each for each in self._offer.devices(1) if (each.pool, each.name) not in held]
        return [dataclasses.replace(first, devices=(*first.devices, *rest)), *others]

    def one_of_each_kind(self) -> list[Device]:
        """One free device per value of the profile's ``driver.kind_attribute``."""
        return self._offer.one_of_each_kind(self.profile.driver.kind_attribute)

    def kinds_at_once(self) -> list[Device]:
        """The same for claims that are held together; one where one claim holds every device."""
        kinds = self.one_of_each_kind()
        return kinds[:1] if self.profile.driver.takes_all_devices else kinds

    def every_device(self) -> list[Device]:
        """All devices that can be given away whole."""
        return self._offer.whole_devices()

    def calls_must_take(self, claims: int) -> None:
        """NotApplicable if no kubelet would call this driver with so many claims."""
        if claims > 1 and self.profile.driver.one_claim_per_pod:
            raise NotApplicable("driver.one_claim_per_pod: a call has one claim")
