"""RST: two instances on one node, as in a rolling update."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench.cycle import residue_of_all
from pytest_dra.bench.sockets import Socket
from pytest_dra.bench.successor import Serving
from pytest_dra.bench.successor import Successor
from pytest_dra.cases import case
from pytest_dra.checks import instances
from pytest_dra.checks import prepare
from pytest_dra.checks import registration
from pytest_dra.checks import slices
from pytest_dra.checks import state
from pytest_dra.spec import Level
from pytest_dra.spec import Violation
from pytest_dra.waiting import pause

EARLY_S = 1.0
"""From the registration of an instance to its early death."""


@case("RST-014", Level.MUST, apart_s=0.4)
def test_rst_014_own_sockets(dra_bench: Bench) -> None:
    """a second instance does not touch the first one's sockets"""
    with (
        dra_bench.timeline.disturbance("second instance"),
        Successor(dra_bench.instance) as successor,
    ):
        first = successor.first
        before = _inodes(first.sockets)
        second = _start(successor, before)
        instances.sockets_must_be_apart(_paths(first), _paths(second))
        for each, what in ((first, "first"), (second, "second")):
            registration.get_info_must_answer(each.get_info(), what=f"the {what} instance")


@case("RST-009", Level.SHOULD, apart_s=0.4)
def test_rst_009_shared_work(dra_bench: Bench) -> None:
    """two instances share their work"""
    instance = dra_bench.instance
    device = dra_bench.devices(1)[0]
    before = instance.tree()
    published = instances.kept_of(instance.slices())
    claim, successor_claim = dra_bench.claim([device]), dra_bench.claim([device])
    with (
        dra_bench.timeline.disturbance("second instance"),
        Successor(instance) as successor,
    ):
        second = _start(successor, _inodes(successor.first.sockets))
        first = successor.first
        before |= instance.tree()
        reply = first.prepare(claim)
        prepare.must_succeed(reply, claim.uid, what="Prepare by instance 1")
        again = second.prepare(claim)
        what = "Prepare by instance 2 of what instance 1 has prepared"
        prepare.must_be_the_same(reply, again, claim.uid, what=what)
        _must_release(second, claim, what="Unprepare by instance 2 of what 1 has prepared")
        reply = first.prepare(successor_claim)
        what = "Prepare by instance 1 on the device that 2 has released"
        prepare.must_succeed(reply, successor_claim.uid, what=what)
        _must_release(first, successor_claim, what="Unprepare by instance 1")
        prepare.must_succeed(second.prepare(claim), claim.uid, what="Prepare by instance 2")
        _must_release(first, claim, what="Unprepare by instance 1 of what 2 has prepared")
        instance.end()
        prepare.must_succeed(
            second.prepare(claim), claim.uid, what="Prepare by instance 2 after the end of 1"
        )
        _must_release(second, claim, what="Unprepare by instance 2 after the end of 1")
        now = instances.kept_of(instance.slices())
        instances.slices_must_stay(published, now, during="an exchange of instances")
        left = residue_of_all([claim, successor_claim], instance.tree(), before)
        expected = dra_bench.plain_cycle().residue
        state.nothing_may_be_left(left, expected=expected, what="claims of two instances")
        instance.start_again()
        dra_bench.forget()


@case("RST-010", Level.SHOULD, apart_s=2)
def test_rst_010_death_of_the_new(dra_bench: Bench) -> None:
    """the old instance survives the death of the new one"""
    published = dra_bench.instance.slices()
    with (
        dra_bench.timeline.disturbance("second instance"),
        Successor(dra_bench.instance) as successor,
    ):
        before = _inodes(successor.first.sockets)
        _start(successor, before)
        pause(EARLY_S)
        successor.kill()
        _must_serve(dra_bench, successor.first, before, after="the death of a registered one")
        successor.start()
        successor.appears()
        successor.kill()
        _must_serve(dra_bench, successor.first, before, after="the death of one that starts")
        slices.inventory_must_be_back(
            dra_bench.instance.slices(),
            before=published,
            after="the death of a second instance",
            within_s=0,
        )


def _start(successor: Successor, before: instances.Inodes) -> Serving:
    """Start the second instance, and wait until it is registered beside the first one."""
    successor.start()
    second = successor.registered()
    now = _inodes(successor.first.sockets)
    instances.sockets_must_be_untouched(before, now, during="the start of a second one")
    if second is None:
        raise Violation(
            "a second instance with another pod uid",
            got=successor.obituary() or "it does not register under a socket of its own",
            want="registered beside the first one",
        )
    return second


def _must_serve(bench: Bench, first: Serving, before: instances.Inodes, *, after: str) -> None:
    instances.sockets_must_be_untouched(before, _inodes(first.sockets), during=after)
    claim = bench.claim(bench.devices(1))
    reply = first.prepare(claim)
    prepare.must_succeed(reply, claim.uid, what=f"Prepare by the old instance after {after}")
    _must_release(first, claim, what=f"Unprepare by the old instance after {after}")


def _must_release(serving: Serving, claim: Claim, *, what: str) -> None:
    prepare.must_succeed(serving.unprepare(claim), claim.uid, what=what)


def _inodes(sockets: Iterable[Socket]) -> dict[str, int]:
    return {str(each.path): each.inode for each in sockets}


def _paths(serving: Serving) -> list[str]:
    return [str(each.path) for each in serving.sockets]
