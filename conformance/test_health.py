"""HLTH: the health of devices, as a kubelet is told of it."""

from __future__ import annotations

from contextlib import ExitStack

from pytest_dra.bench import Bench
from pytest_dra.bench.ailing import ailing
from pytest_dra.bench.ailing import wait_for
from pytest_dra.bench.health import FIRST_S
from pytest_dra.bench.health import all_streams
from pytest_dra.bench.health import epoch
from pytest_dra.bench.health import known
from pytest_dra.bench.health import offered
from pytest_dra.bench.health import own_devices
from pytest_dra.bench.health import presence
from pytest_dra.bench.health import read_all
from pytest_dra.bench.health import read_long
from pytest_dra.bench.health import watching
from pytest_dra.bench.shipping import manifests_must_pass
from pytest_dra.cases import case
from pytest_dra.checks import health
from pytest_dra.checks import prepare
from pytest_dra.checks import registration
from pytest_dra.checks import taints
from pytest_dra.checks.taints import NOTICED_S
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable

DECLINE_S = 5.0
"""A driver without health says so at once; so long may that take."""

TWICE = 2

CALLS = 3
CALL_S = 10.0
"""Deadline of a call beside open streams."""

GET_INFO_S = 1.0
"""The kubelet's deadline of GetInfo (contract 3.3)."""

AGAIN_S = 35.0
"""Longest wait for the first report of a new stream, where that is not what is judged."""


@case("HLTH-001", Level.SHOULD)
def test_hlth_001_opens(dra_bench: Bench) -> None:
    """the health stream opens and reports soon"""
    for service in offered(dra_bench):
        with watching(dra_bench, service) as stream:
            found = stream.wait_first()
            health.first_must_come_soon(found, service=service, within_s=FIRST_S)


@case("HLTH-002", Level.SHOULD)
def test_hlth_002_declined(dra_bench: Bench) -> None:
    """a driver without health declines at once"""
    advertised = dra_bench.answering().info().supported_versions
    services = [name for name in known(dra_bench) if name in advertised]
    if not services:
        raise NotApplicable("no health service is advertised")
    for service in [*services] * TWICE:
        with watching(dra_bench, service) as stream:
            found = stream.wait_first(DECLINE_S)
        if any(each.reports for each in found):
            raise NotApplicable("the driver reports health: declare DeviceHealth")
        health.must_be_declined(found[0] if found else None, service=service, within_s=DECLINE_S)


@case("HLTH-003", Level.MUST, settles=True)
def test_hlth_003_published(dra_bench: Bench) -> None:
    """reported devices are published devices"""
    dra_bench.wait_published()
    found = read_long(dra_bench)
    there = presence(dra_bench)
    health.must_be_published(found, published=there.at_some_time, now=dra_bench.timeline.now())


@case("HLTH-004", Level.MUST)
def test_hlth_004_complete(dra_bench: Bench) -> None:
    """reports cover every device within its lease"""
    wanted = own_devices(dra_bench)
    if not wanted:
        raise NotApplicable("no slice with devices is the node's own")
    found = read_all(dra_bench, wanted)
    span = health.BEYOND * health.longest_lease_s(found)
    health.must_cover(found, wanted, within_s=span)


@case("HLTH-005", Level.MUST, settles=True)
def test_hlth_005_repeated(dra_bench: Bench) -> None:
    """reports are repeated before the lease ends"""
    found = read_long(dra_bench)
    health.must_be_repeated(found, published=presence(dra_bench).throughout)


@case("HLTH-006", Level.SHOULD, settles=True)
def test_hlth_006_short(dra_bench: Bench) -> None:
    """health messages are short"""
    read_all(dra_bench, own_devices(dra_bench))
    health.messages_must_be_short(all_streams(dra_bench))


@case("HLTH-007", Level.MUST)
def test_hlth_007_full_state(dra_bench: Bench) -> None:
    """a new stream starts with the full state"""
    wanted = own_devices(dra_bench)
    before = read_all(dra_bench, wanted)
    wanted &= health.names(before)
    within_s = health.BEYOND * health.longest_lease_s(before)
    for service in offered(dra_bench)[:1]:
        with watching(dra_bench, service) as first:
            first.wait_first()
        with watching(dra_bench, service) as second:
            second.wait_first(AGAIN_S)
            found = second.wait(lambda stream: health.names([stream]) >= wanted, within_s)
            health.must_come_again(found, wanted, within_s=within_s)


@case("HLTH-008", Level.SHOULD, settles=True)
def test_hlth_008_times(dra_bench: Bench) -> None:
    """last_updated_time is plausible"""
    health.times_must_be_plausible(read_long(dra_bench), epoch=epoch(dra_bench))


@case("HLTH-010", Level.SHOULD)
def test_hlth_010_no_new_claims(dra_bench: Bench) -> None:
    """a bad device gets no new claims and can be released"""
    dra_bench.wait_published()
    device = dra_bench.devices(1)[0]
    claim = dra_bench.claim([device])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    with ailing(dra_bench, device):
        found = wait_for(dra_bench, device, taints.is_closed)
        limit = dra_bench.within(NOTICED_S)
        taints.must_be_closed(found, device=device.name, within_s=limit)
        reply = dra_bench.unprepare(claim)
        what = f"Unprepare of a claim whose device {device.name!r} is faulty"
        prepare.must_succeed(reply, claim.uid, what=what)


@case("HLTH-011", Level.SHOULD, settles=True)
def test_hlth_011_probe(dra_bench: Bench) -> None:
    """the driver's liveness probe tells the truth"""
    manifests_must_pass(dra_bench, "HLTH-011")


@case("HLTH-012", Level.MUST)
def test_hlth_012_advertised(dra_bench: Bench) -> None:
    """a supported health service is advertised"""
    versions = dra_bench.answering().info().supported_versions
    health.service_must_be_advertised(versions, known=known(dra_bench))


@case("HLTH-013", Level.MUST)
def test_hlth_013_beside_calls(dra_bench: Bench) -> None:
    """an open health stream does not block other calls"""
    device = dra_bench.devices(1)[0]
    with ExitStack() as stack:
        opened = [
            stack.enter_context(watching(dra_bench, service)) for service in offered(dra_bench)
        ]
        for each in opened:
            each.wait_first()
        for _ in range(CALLS):
            claim = dra_bench.claim([device])
            for name, call in (("Prepare", dra_bench.prepare), ("Unprepare", dra_bench.unprepare)):
                what = f"{name} beside open health streams"
                prepare.must_succeed(call(claim, timeout_s=CALL_S), claim.uid, what=what)
            dra_bench.claims.delete(claim)
        with dra_bench.answering().patient_client() as client:
            reply = client.get_info(timeout_s=GET_INFO_S)
            registration.get_info_must_answer(reply, what="GetInfo beside open health streams")


@case("HLTH-014", Level.MUST, settles=True)
def test_hlth_014_not_cut(dra_bench: Bench) -> None:
    """no health message is cut inside a character"""
    read_all(dra_bench, own_devices(dra_bench))
    health.messages_must_be_fit_to_be_cut(all_streams(dra_bench))


@case("HLTH-015", Level.MUST, settles=True)
def test_hlth_015_never_unimplemented(dra_bench: Bench) -> None:
    """a driver with health never ends a stream with UNIMPLEMENTED"""
    health.must_not_be_given_up(read_long(dra_bench))
