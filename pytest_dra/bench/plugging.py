"""A device of the driver under test that the profile's ``hooks.hotplug`` takes away and brings."""

from __future__ import annotations

import json
from collections.abc import Collection
from collections.abc import Mapping

from pytest_dra.bench import hooks
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.devices import Device
from pytest_dra.bench.replugging import FOLLOW_S
from pytest_dra.checks.plugging import Face
from pytest_dra.checks.plugging import Pair
from pytest_dra.spec import UnsupportedEnvironment

CLAIMS_MAX = 16
"""Claims on the devices of which one will go: nobody says which."""


class Plugging:
    """As a context the device is away; what comes of it is followed.

    ``first`` are the devices as they were.

    Raises:
        UnsupportedEnvironment: there is no such hook.
    """

    limit_s = FOLLOW_S

    def __init__(self, bench: Bench) -> None:
        hook = bench.profile.hooks.hotplug
        if hook is None:
            raise UnsupportedEnvironment("no hooks.hotplug", way_out="give hooks.hotplug")
        self._bench = bench
        self._hook = hook
        self.first = self.now()

    def __enter__(self) -> None:
        self._run("remove", self._hook.remove)

    def __exit__(self, *_: object) -> None:
        self._run("add", self._hook.add)

    def _run(self, name: str, command: tuple[str, ...]) -> None:
        with self._bench.timeline.disturbance(f"hooks.hotplug.{name}"):
            hooks.run(self._bench.instance, command, name=f"hooks.hotplug.{name}")

    def claims(self) -> list[Claim]:
        """A claim on each device, or one on all of them where the driver has it so."""
        bench = self._bench
        several = 1 if bench.profile.driver.takes_all_devices else CLAIMS_MAX
        return [bench.claim([each]) for each in bench.every_device()[:several]]

    def now(self) -> Mapping[Pair, Face]:
        """The devices of the moment that nothing keeps from being allocated."""
        return {
            (each.pool, each.name): self._face(each)
            for each in self._bench.instance.devices()
            if not each.spec.get("taints")
        }

    def _face(self, device: Device) -> Face:
        volatile = self._bench.profile.driver.volatile_attributes
        attributes = device.spec.get("attributes") or {}
        kept = {name: value for name, value in attributes.items() if name not in volatile}
        return json.dumps(kept, sort_keys=True)

    def removed(self) -> set[Pair]:
        """Wait until some of the first devices are there no more, and return these."""
        self._bench.instance.wait_for_slices(
            lambda _: not set(self.first) <= set(self.now()), within_s=self.limit_s
        )
        return set(self.first) - set(self.now())

    def returned(self, gone: Collection[Pair]) -> set[Pair]:
        """Wait until these are there again, and return those that are."""
        self._bench.instance.wait_for_slices(
            lambda _: set(gone) <= set(self.now()), within_s=self.limit_s
        )
        return set(gone) & set(self.now())

    def devices(self, pairs: Collection[Pair]) -> list[Device]:
        """These devices as they are published now."""
        return [each for each in self._bench.instance.devices() if (each.pool, each.name) in pairs]
