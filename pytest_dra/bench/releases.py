"""The previous release of the driver, on the node of the one under test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_dra.bench import comeback
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.devices import Device
from pytest_dra.bench.residue import Tree
from pytest_dra.launch import LaunchError
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

WAY_OUT = "a launch.previous that works on this node"


@contextmanager
def previous(bench: Bench) -> Iterator[Tree]:
    """The driver is its previous release meanwhile, and does not run afterwards.

    Yields the paths that its start has added.

    Raises:
        UnsupportedEnvironment: it cannot be run here.
    """
    if not bench.setup.previous:
        raise UnsupportedEnvironment(
            "launch.previous is an image and the driver a process, or the other way round",
            way_out="--dra-driver=IMAGE with --dra-driver-previous=IMAGE, or for a process "
            "launch.previous.command in the profile",
        )
    driver = bench.instance.driver
    current = driver.components
    bench.instance.end()
    driver.components = bench.setup.previous
    try:
        yield _started(bench)
    finally:
        bench.instance.end()
        driver.components = current


def _started(bench: Bench) -> Tree:
    try:
        return comeback.start_again(bench, after="the exchange for the previous release")
    except (Violation, LaunchError) as error:
        raise UnsupportedEnvironment(
            f"the previous release does not work here: {getattr(error, 'got', error)}",
            way_out=WAY_OUT,
        ) from error


def prepared(bench: Bench, device: Device) -> Claim:
    """A claim that the previous release has prepared.

    Raises:
        UnsupportedEnvironment: it cannot.
    """
    claim = bench.claim([device])
    problem = bench.prepare(claim).error_for(claim.uid)
    if problem:
        raise UnsupportedEnvironment(
            f"the previous release prepares no claim: {problem}", way_out=WAY_OUT
        )
    return claim
