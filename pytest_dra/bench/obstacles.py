"""What a case puts in a driver's way: the CDI directory gone, the API server silent or refusing.

All of it is a disturbance on the timeline, and is taken away at the end of its context. Each
function asks only that the driver under test runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from contextlib import contextmanager
from pathlib import Path

from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.bench.bench import Bench
from pytest_dra.clusters.protocol import Trouble
from pytest_dra.embedded.trouble import Caused
from pytest_dra.embedded.trouble import Scope
from pytest_dra.launch import LaunchError
from pytest_dra.launch.view import CDI_DIR
from pytest_dra.spec import UnsupportedEnvironment

FALL_BACKS = 3
"""Reads of one claim by a client that tries an API version after the other (V24)."""

BROKEN = 500
"""HTTP status of a server that is in trouble for a moment."""


@contextmanager
def unwritable_cdi(bench: Bench) -> Iterator[None]:
    """A plain file in the place of the CDI directory, which stops root as well.

    A driver in a jail or a container has the directory itself at the usual path, where it cannot
    write meanwhile.
    """
    directory = bench.instance.directories.cdi_dir
    with (
        bench.timeline.disturbance("unwritable CDI directory"),
        _read_only_inside(bench),
        _file_in_place_of(directory),
    ):
        yield


@contextmanager
def _file_in_place_of(directory: Path) -> Iterator[None]:
    aside = directory.with_name(f"{directory.name}-aside")
    directory.rename(aside)
    try:
        directory.touch(mode=0o644)
        yield
    finally:
        _remove(directory)
        aside.rename(directory)


@contextmanager
def _read_only_inside(bench: Bench) -> Iterator[None]:
    instance = bench.instance
    lodging = instance.place.lodging
    if lodging is None:
        yield
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(lodging.read_only(CDI_DIR, instance.driver.pids))
        except LaunchError as error:
            raise UnsupportedEnvironment(
                str(error),
                way_out="run pytest as root, with a rootless engine, or without --dra-jail",
            ) from error
        yield


def _remove(path: Path) -> None:
    """Whatever the driver has made of it; a link is not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def unwritable_data(bench: Bench) -> Iterator[None]:
    """A plain file in the place of the driver's data directory, whose open sockets stay in use.

    Raises:
        UnsupportedEnvironment: there is no such directory.
    """
    instance = bench.instance
    directory = instance.directories.driver_dir(instance.driver_name or "")
    if directory.is_symlink() or not directory.is_dir():
        raise UnsupportedEnvironment(
            f"the driver has no directory {directory.name} below the kubelet's plugins",
            way_out="keep files of state there",
        )
    with bench.timeline.disturbance("unwritable data directory"), _file_in_place_of(directory):
        yield


@contextmanager
def failing_reads(bench: Bench, *, times: int | None = FALL_BACKS) -> Iterator[Caused]:
    """The driver's reads of a claim are answered with 500, as often as one reading needs.

    ``times`` None: until the end of the context.
    """
    scope = _reads(bench)
    with (
        bench.timeline.disturbance("reads of claims fail"),
        _trouble(bench).refuse(scope, BROKEN, times=times) as caused,
    ):
        yield caused


@contextmanager
def held_reads(bench: Bench) -> Iterator[Caused]:
    """The driver's reads of claims are not answered before the end of the context."""
    scope = _reads(bench)
    with (
        bench.timeline.disturbance("reads of claims are held"),
        _trouble(bench).hold(scope) as caused,
    ):
        yield caused


@contextmanager
def unreachable_api(bench: Bench) -> Iterator[None]:
    """Nobody reaches the API server."""
    trouble = _trouble(bench)
    with bench.timeline.disturbance("API server unreachable"), trouble.unreachable():
        yield


def _reads(bench: Bench) -> Scope:
    return Scope(
        identity=bench.instance.user, verbs=("get", "list"), resource=RESOURCE_CLAIMS.plural
    )


def _trouble(bench: Bench) -> Trouble:
    found = bench.cluster.trouble()
    if found is None:
        raise UnsupportedEnvironment(
            "the cluster's API server does not misbehave on request",
            way_out="--dra-cluster=embedded",
        )
    return found
