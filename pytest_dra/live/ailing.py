"""A device in use that fails, and what the status of its pod says then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_dra.live.asking import CLAIM
from pytest_dra.live.bench import LiveBench
from pytest_dra.live.hooks import run_hook
from pytest_dra.live.pods import Pod
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

SHOWS_S: Final = 60.0
"""From a fault to the pod's status (the catalogue's)."""

EVERY_S: Final = 0.5
"""Between two looks at the pod."""

HEALTHY: Final = "Healthy"
UNHEALTHY: Final = "Unhealthy"


def run(bench: LiveBench, name: str, command: Sequence[str], held: tuple[str, str, str]) -> None:
    """Run a hook for a device. Raises UnsupportedEnvironment."""
    _, pool, device = held
    values = {"node": bench.node.name, "pool": pool, "device": device}
    run_hook(bench.driver, name, command, values)


def must_show(bench: LiveBench, pod: Pod, held: tuple[str, str, str], wanted: str) -> None:
    """Wait until the pod's status says so of the one device that the pod has.

    Raises:
        Violation: it does not.
    """
    found = poll(lambda: _told(bench, pod) == [wanted], Deadline.after(SHOWS_S), every_s=EVERY_S)
    if not found:
        _, pool, device = held
        raise Violation(
            f"allocatedResourcesStatus of {pod}, claim:{CLAIM}, device {pool}/{device}",
            got=", ".join(_told(bench, pod)) or "nothing",
            want=f"{wanted} within {SHOWS_S:g} s",
        )


def _told(bench: LiveBench, pod: Pod) -> list[str]:
    """What is said of the resources of the pod's claim."""
    status = (bench.pods.state(pod) or {}).get("status") or {}
    return [
        str(each.get("health"))
        for container in status.get("containerStatuses") or ()
        for about in container.get("allocatedResourcesStatus") or ()
        if str(about.get("name")).startswith(f"claim:{CLAIM}")
        for each in about.get("resources") or ()
    ]
