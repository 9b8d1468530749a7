"""A driver under the longest name that it can have, in a registry as far away as real ones."""

from __future__ import annotations

import dataclasses

from pytest_dra.bench.bench import Bench

PLACEHOLDER = "driver_name"

LONGEST = f"{'l' * 51}.example.com"
"""A driver name of 63 bytes, the longest that the API takes."""

REGISTRY_BYTES = 40
"""Path of the registry: somewhat longer than /var/lib/kubelet/plugins_registry."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What became of the driver: registered, or ended by itself, with the end of its output."""

    name: str
    registered: bool
    ended: bool
    output: str


def can_be_tried(bench: Bench) -> bool:
    """True if the driver is told its name by the placeholder ``{driver_name}``."""
    return any(component.uses(PLACEHOLDER) for component in bench.instance.driver.components)


def try_longest(bench: Bench) -> Tried:
    """Start it on a node of its own, and wait until it is registered or has ended."""
    # Not in memory: its path would leave no room for a socket in the driver's directory.
    setup = dataclasses.replace(
        bench.setup, driver_name=LONGEST, registry_bytes=REGISTRY_BYTES, in_memory=False
    )
    instance = bench.new_instance("n", setup=setup)
    try:
        with bench.timeline.disturbance("the longest names"):
            instance.start()
            plugin = instance.plugin()
            return Tried(
                name=LONGEST,
                registered=plugin is not None and plugin.client.is_connected,
                ended=instance.over,
                output=instance.driver.log_tail(),
            )
    finally:
        instance.kill()
        bench.discard(instance)
