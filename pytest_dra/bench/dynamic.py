"""Partitions that come and go with claims, as the profile's ``hooks.inventory`` shows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from pytest_dra.bench import hooks
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.devices import Device
from pytest_dra.checks.partitions import HOOK
from pytest_dra.checks.partitions import lines_of

_HINDERING = ("taints", "bindingConditions")
"""Fields of devices that cannot simply be claimed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the hook has printed before, while and after a claim of a device was prepared."""

    device: Device
    before: tuple[str, ...]
    during: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def is_dynamic(self) -> bool:
        """True if the claim has changed the inventory."""
        return self.before != self.during


def inventory(bench: Bench) -> tuple[str, ...]:
    """The lines that the hook prints, whatever their order.

    Raises:
        UnsupportedEnvironment: it cannot be run.
    """
    return lines_of(hooks.run(bench.instance, bench.profile.hooks.inventory, name=HOOK))


def looks(bench: Bench) -> list[Look]:
    """Prepare and release a claim of one device of each kind, up to the first that is dynamic."""
    made: list[Look] = []

    def look() -> Look | None:
        for device in _kinds(bench):
            if all(each.device != device for each in made):
                made.append(_look(bench, device))
                if made[-1].is_dynamic:
                    return made[-1]
        return None

    bench.look_for(look)
    return made


def _look(bench: Bench, device: Device) -> Look:
    before = inventory(bench)
    claim = bench.claim([device])
    bench.prepare(claim)
    during = inventory(bench)
    bench.unprepare(claim)
    return Look(device=device, before=before, during=during, after=inventory(bench))


def _kinds(bench: Bench) -> Iterator[Device]:
    """The first device of each pool and kind."""
    seen = set()
    for device in bench.instance.devices():
        kind = (device.pool, str(device.attribute(bench.profile.driver.kind_attribute)))
        if kind not in seen and not any(device.spec.get(field) for field in _HINDERING):
            seen.add(kind)
            yield device
