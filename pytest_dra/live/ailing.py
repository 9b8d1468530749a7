"""A device that fails, what is published of it, and what the status of its pod says then."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Final

from pytest_dra.checks.pools import newest
from pytest_dra.checks.taints import NOTICED_S
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import Ask
from pytest_dra.live.bench import LiveBench
from pytest_dra.live.hooks import run_hook
from pytest_dra.live.pods import Pod
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
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


def holding(bench: LiveBench, ask: Ask) -> tuple[str, Pod, tuple[str, str, str]]:
    """A claim of one device, a pod that runs with it, and the device: driver, pool, name.

    Raises:
        Violation: the pod does not run.
    """
    claim = bench.claim(ask)
    pod = bench.pod_with(claim)
    bench.pods.must_run(pod)
    (held,) = bench.claims.devices(claim)
    return claim, pod, held


@contextmanager
def failing(bench: LiveBench, held: tuple[str, str, str]) -> Iterator[None]:
    """A device is faulty meanwhile, and healed then; without ``hooks.heal`` the driver begins anew.

    Raises:
        UnsupportedEnvironment: a hook cannot be run.
    """
    hooks = bench.profile.hooks
    run(bench, "hooks.fault", hooks.fault, held)
    try:
        yield
    finally:
        if hooks.heal:
            run(bench, "hooks.heal", hooks.heal, held)
            published_until(bench, held, lambda now: now is not None and not now.get("taints"))
        else:
            bench.driver.restart()


def published_until(
    bench: LiveBench, held: tuple[str, str, str], wanted: Callable[[Json | None], bool]
) -> Json | None:
    """The device as it is published once that is as wanted, or at the deadline; None if it is not.

    Args:
        bench: whose driver has it.
        held: driver, pool and device.
        wanted: is asked with it.
    """
    _, pool, device = held

    def look() -> Json | None:
        for item in newest(bench.driver.slices()):
            for each in item["spec"].get("devices") or ():
                if item["spec"]["pool"]["name"] == pool and each["name"] == device:
                    found: Json = each
                    return found
        return None

    poll(lambda: wanted(look()), Deadline.after(NOTICED_S), every_s=EVERY_S)
    return look()


def tainted(bench: LiveBench, held: tuple[str, str, str]) -> Json:
    """The device once it has a taint.

    Raises:
        UnsupportedEnvironment: it gets none, which is another case's matter.
    """
    found = published_until(bench, held, lambda now: bool(now and now.get("taints")))
    if not found or not found.get("taints"):
        raise UnsupportedEnvironment(
            f"hooks.fault has not made the driver taint device {held[2]!r} within {NOTICED_S:g} s",
            way_out="--dra-depth=wire, at which TAINT-003 says why",
        )
    return found


def must_show(bench: LiveBench, pod: Pod, held: tuple[str, str, str], wanted: str) -> None:
    """Wait until the pod's status says so of the one device that the pod has.

    Raises:
        Violation: it does not.
    """
    found = poll(lambda: told(bench, pod) == [wanted], Deadline.after(SHOWS_S), every_s=EVERY_S)
    if not found:
        _, pool, device = held
        raise Violation(
            f"allocatedResourcesStatus of {pod}, claim:{CLAIM}, device {pool}/{device}",
            got=", ".join(told(bench, pod)) or "nothing",
            want=f"{wanted} within {SHOWS_S:g} s",
        )


def told(bench: LiveBench, pod: Pod) -> list[str]:
    """What is said of the resources of the pod's claim."""
    status = (bench.pods.state(pod) or {}).get("status") or {}
    return [
        str(each.get("health"))
        for container in status.get("containerStatuses") or ()
        for about in container.get("allocatedResourcesStatus") or ()
        if str(about.get("name")).startswith(f"claim:{CLAIM}")
        for each in about.get("resources") or ()
    ]
