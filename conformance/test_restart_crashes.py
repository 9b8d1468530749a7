"""RST: crashes in the middle of a call."""

from __future__ import annotations

import functools
from collections.abc import Callable

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench import comeback
from pytest_dra.bench.crashpoint import CrashPoints
from pytest_dra.bench.crashpoint import Strike
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level
from pytest_dra.wire.answers import NodeReply

ID = "RST-005"

POINTS = 5
"""Points of each call at which the driver is killed."""

SOAK_POINTS = 20
"""Further moments of each call in a soak."""

LATEST = 1.1
"""Of the time that a call takes: the end of the moments that a soak chooses from."""

MEASURED = 3
"""Calls of which the middle one says how long a call takes."""

METHODS = (prepare.PREPARE, prepare.UNPREPARE)


@case("RST-005", Level.MUST, apart_s=5)
def test_rst_005_any_point(dra_bench: Bench) -> None:
    """a crash at any point is repaired by the next call"""
    device = dra_bench.devices(1)[0]
    with CrashPoints(dra_bench.instance, hook=dra_bench.profile.hooks.crash_point) as points:
        for method in METHODS:
            for number in range(1, POINTS + 1):
                if not _at(dra_bench, points, device, method=method, number=number):
                    break
        if dra_bench.setup.soak.on:
            for method in METHODS:
                _soak(dra_bench, points, device, method=method)


def _at(bench: Bench, points: CrashPoints, device: Device, *, method: str, number: int) -> bool:
    """Crash at one point; False if the call has fewer: then right behind its answer."""
    crashed = _Crashed(bench, device, method=method)
    strike = crashed.at(functools.partial(points.at, number, method))
    what = f"a crash at write {number} of {method}"
    if not strike.struck:
        bench.instance.kill()
        what = f"a crash behind the answer to {method}"
    crashed.must_be_repaired(what, first=METHODS[(number + 1) % len(METHODS)])
    return strike.struck


def _soak(bench: Bench, points: CrashPoints, device: Device, *, method: str) -> None:
    """Crash at moments that the seed has chosen."""
    soak, took_s = bench.setup.soak, _measured(bench, device, method=method)
    for number in range(1, SOAK_POINTS + 1):
        share = LATEST * soak.fraction(f"{ID} {method} {number}")
        seconds = share * took_s
        crashed = _Crashed(bench, device, method=method)
        strike = crashed.at(functools.partial(points.after, seconds))
        what = (
            f"a crash {share:.0%} of {took_s * 1000:.1f} ms into {method}, after {strike.writes} "
            f"writes: moment {number} of the soak{soak.replayed(ID)}"
        )
        crashed.must_be_repaired(what, first=METHODS[number % len(METHODS)])


def _measured(bench: Bench, device: Device, *, method: str) -> float:
    """Seconds that a call of the method takes."""
    times = []
    for _ in range(MEASURED):
        claim = bench.claim([device])
        replies = {prepare.PREPARE: bench.prepare(claim), prepare.UNPREPARE: bench.unprepare(claim)}
        times.append(replies[method].duration_s)
        bench.claims.delete(claim)
    return sorted(times)[MEASURED // 2]


class _Crashed:
    """One claim whose call is cut short, and what has to follow."""

    def __init__(self, bench: Bench, device: Device, *, method: str) -> None:
        self._bench = bench
        self._device = device
        self._before = bench.instance.tree()
        self._claim = bench.claim([device])
        self._call: Callable[[Claim], NodeReply] = bench.prepare
        if method == prepare.UNPREPARE:
            reply = bench.prepare(self._claim)
            prepare.must_succeed(reply, self._claim.uid, what="Prepare")
            self._call = bench.unprepare

    def at(self, strike: Callable[[Callable[[], NodeReply]], Strike]) -> Strike:
        """Make the call while ``strike`` waits for its moment."""
        with self._bench.timeline.disturbance("a crash"):
            return strike(lambda: self._call(self._claim))

    def must_be_repaired(self, what: str, *, first: str) -> None:
        """The driver comes back, and the next call, which is ``first``, puts all right."""
        bench, claim = self._bench, self._claim
        with bench.timeline.disturbance(what):
            before = self._before | comeback.start_again(bench, after=what)
            if first == prepare.PREPARE:
                reply = bench.prepare(claim)
                prepare.must_succeed(reply, claim.uid, what=f"Prepare after {what}")
                bench.ids_must_resolve(reply, claim, what=f"a claim after {what}")
            reply = bench.unprepare(claim)
            prepare.must_succeed(reply, claim.uid, what=f"Unprepare after {what}")
            plain = bench.plain_cycle()
            left = state.apart_from_unfinished(bench.residue_of(claim, before), made=plain.made)
            state.nothing_may_be_left(left, expected=plain.residue, what=f"a claim after {what}")
            successor = bench.claim([self._device])
            reply = bench.prepare(successor)
            text = f"Prepare on the device after {what}"
            prepare.must_succeed(reply, successor.uid, what=text)
            bench.unprepare(successor)
        for each in (claim, successor):
            bench.claims.delete(each)
