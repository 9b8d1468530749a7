"""REG: the names of sockets, and what becomes of them."""

from __future__ import annotations

from pathlib import PurePosixPath

from pytest_dra.bench import Bench
from pytest_dra.bench import longnames
from pytest_dra.bench import sockets
from pytest_dra.bench.registration import listening
from pytest_dra.cases import case
from pytest_dra.checks import registration
from pytest_dra.spec import Level
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

GRACE_S = 30.0
"""A pod's default grace period."""

NOTICED_S = 60.0
"""Deadline for a driver to see that its registration socket is gone."""

REGISTRY = PurePosixPath("/var/lib/kubelet/plugins_registry")
"""Where the registration socket of a driver on a real node lies."""


@case("REG-011", Level.SHOULD)
def test_reg_011_length(dra_bench: Bench) -> None:
    """socket paths respect the Unix limit"""
    found = dra_bench.answering()
    every = {*sockets.sockets_of(dra_bench.instance), found.endpoint()}
    registration.socket_paths_must_fit({str(each): sockets.length_of(each) for each in every})
    with found.dra():
        pass
    # Where the kubelet does not reach the driver at all, longer names show nothing new.
    plugin = dra_bench.instance.plugin()
    reached = plugin is not None and plugin.client.is_connected
    if not reached or not longnames.can_be_tried(dra_bench):
        usual = REGISTRY / found.socket.relative_to(dra_bench.instance.directories.registry_dir)
        registration.socket_paths_must_fit({str(usual): len(str(usual).encode())})
        return
    tried = longnames.try_longest(dra_bench)
    registration.longest_names_must_work(
        registered=tried.registered, ended=tried.ended, output=tried.output, name=tried.name
    )


@case("REG-012", Level.SHOULD, apart_s=3)
def test_reg_012_removed(dra_bench: Bench) -> None:
    """SIGTERM removes the driver's sockets"""
    instance = dra_bench.instance
    live = sockets.live_sockets(dra_bench.answering(), instance)
    # A process that has only just started may not handle signals yet.
    instance.settle()
    with dra_bench.timeline.disturbance("SIGTERM"):
        in_time = instance.end(within_s=GRACE_S)
        left = [path for path in live if path.is_socket()]
        registration.sockets_must_be_removed(
            [str(path) for path in left], in_time=in_time, within_s=GRACE_S
        )
        instance.start_again()
        dra_bench.forget()


@case("REG-013", Level.MAY, apart_s=1)
def test_reg_013_wiped(dra_bench: Bench) -> None:
    """a wiped registry directory is noticed"""
    instance, found = dra_bench.instance, dra_bench.answering()
    limit_s = dra_bench.within(NOTICED_S)
    others = {path for path in listening(instance) if path != found.socket}
    with dra_bench.timeline.disturbance("registration socket deleted"):
        instance.place.reached(found.socket).unlink(missing_ok=True)
        noticed = poll(
            lambda: instance.over or any(path not in others for path in listening(instance)),
            Deadline.after(limit_s),
        )
        registration.removal_must_be_noticed(
            found.socket.name, noticed=bool(noticed), within_s=limit_s
        )
        if instance.over:
            instance.start_again()
        dra_bench.forget()
        dra_bench.registration()
