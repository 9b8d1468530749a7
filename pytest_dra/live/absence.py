"""What is left of a driver that is uninstalled, who waits for it, and what becomes of them then.

A kubelet wipes the slices of a driver that has gone after half a minute, and those of all drivers
when it starts: so it is restarted where it can be. The driver goes once for all cases that look.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra.live import choosing
from pytest_dra.live.asking import Ask
from pytest_dra.live.node import LiveNode
from pytest_dra.live.pods import Pod
from pytest_dra.live.pods import Pods
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench

WIPED_S: Final = 90.0
"""From the end of a driver to that of its slices: a kubelet wipes them after 30 s by itself."""

EVERY_S: Final = 0.5
"""Between two looks for them."""

PENDING_S: Final = 3.0
"""How long a pod waits before its driver is installed: it has been looked at by then."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """What was seen of one.

    Attributes:
        sockets: of the driver that were left, and nobody serves; None where nobody can look.
        slices: that were left when the kubelet had had its time.
        waiting: what is wrong with a pod that waited for the driver; None: it ran.
        ending: what is wrong with one that was deleted meanwhile, and its claim; None: they went,
            and another pod runs on their device.
    """

    sockets: tuple[str, ...] | None
    slices: tuple[Json, ...]
    waiting: Violation | None
    ending: Violation | None


def watched(bench: LiveBench) -> Absence:
    """Uninstall the driver, look, and install it again.

    Raises:
        UnsupportedEnvironment: it is not ours.
        ClusterError: it cannot be removed, or not be installed again.
        Violation: a pod did not run before.
    """
    driver, node = bench.driver, bench.node
    claim = bench.claim()
    ending = bench.pod_with(claim)
    bench.pods.must_run(ending)
    ask = _ask_for_that_of(bench, claim)
    before = _dead_on(node)
    with driver.away():
        after = _dead_on(node)
        waiting, looked = bench.pod_with(bench.claim(), node=node.name), Deadline.after(PENDING_S)
        bench.pods.delete(ending)
        bench.claims.delete(claim)
        with suppress(UnsupportedEnvironment):
            bench.restart_kubelet(node)
        poll(lambda: not driver.slices(), Deadline.after(WIPED_S), every_s=EVERY_S)
        left = tuple(driver.slices())
        driver.sweep()
        bench.pods.runs_within(waiting, looked.left_s())
    following = bench.pod_with(bench.claim(ask), node=node.name) if ask is not None else None
    want = "after the driver was installed, which came later"
    found = Absence(
        sockets=None if after is None else tuple(sorted(after - (before or set()))),
        slices=left,
        waiting=_wrong(lambda: bench.pods.must_run(waiting, want=want)),
        ending=_wrong(lambda: _must_be_given_back(bench.pods, ending, following)),
    )
    driver.must_publish()
    return found


def _ask_for_that_of(bench: LiveBench, claim: str) -> Ask | None:
    """A request for the device that a claim has; None where nothing tells it from others."""
    with suppress(UnsupportedEnvironment):
        return choosing.asking_for(bench, bench.claims.devices(claim)[0])
    return None


def _must_be_given_back(pods: Pods, ending: Pod, following: Pod | None) -> None:
    pods.must_go(ending, nudged=True)
    if following is not None:
        pods.must_run(
            following, want=f"on the device of {ending}, deleted while the driver was away"
        )


def _dead_on(node: LiveNode) -> set[str] | None:
    """Sockets that nobody serves; those of other drivers are served before and afterwards."""
    try:
        return set(node.dead_sockets())
    except UnsupportedEnvironment:
        return None


def _wrong(act: Callable[[], object]) -> Violation | None:
    try:
        act()
    except Violation as violation:
        return violation
    return None
