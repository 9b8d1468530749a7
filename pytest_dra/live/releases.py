"""The previous release of the driver, on the cluster of the one under test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_dra.live.pods import Pod
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench

WAY_OUT = "a previous release that works on this cluster"


@contextmanager
def previous(bench: LiveBench) -> Iterator[None]:
    """The plugin is that of the previous release meanwhile, and this one's again afterwards.

    Raises:
        UnsupportedEnvironment: it is not known, does not run here, or the driver is not ours.
        ClusterError: pods do not go.
        Violation: those of this release do not come back.
    """
    bench.driver.must_be_ours()
    if not bench.previous:
        raise UnsupportedEnvironment(
            "the image of the previous release is not known",
            way_out="--dra-driver-previous=IMAGE, or launch.previous.image in the profile",
        )
    with ExitStack() as stack:
        try:
            stack.enter_context(bench.driver.without_plugin(instead=bench.previous))
        except Violation as violation:
            raise UnsupportedEnvironment(
                f"the previous release does not run here: {violation.got}", way_out=WAY_OUT
            ) from violation
        yield


def prepared(bench: LiveBench, claim: str) -> Pod:
    """A pod with a claim that the previous release has prepared.

    Raises:
        UnsupportedEnvironment: it does not run.
    """
    pod = bench.pod_with(claim)
    try:
        bench.pods.must_run(pod)
    except Violation as violation:
        raise UnsupportedEnvironment(
            f"the previous release prepares no claim: {violation.got}", way_out=WAY_OUT
        ) from violation
    return pod
