"""IDEM: histories of two claims."""

from __future__ import annotations

from itertools import chain

from pytest_dra.bench import Bench
from pytest_dra.bench.player import Player
from pytest_dra.cases import case
from pytest_dra.checks import histories
from pytest_dra.spec import Level


@case("IDEM-009", Level.MUST, apart_s=6)
def test_idem_009_histories(dra_bench: Bench) -> None:
    """any sequence of legal calls ends in the right state"""
    first, second = dra_bench.devices(2)
    player = Player(dra_bench, (first, second))
    soak = dra_bench.setup.soak
    more = histories.soaking(soak.seed) if soak.on else ()
    rebooting = histories.WITH_REBOOT if player.reboots else ()
    usual = chain(histories.FIXED, histories.further(), histories.WITH_FAULTS, rebooting, more)
    for history in dra_bench.setup.replay or usual:
        violation = player.play(history)
        if violation is not None:
            shortest, found = histories.shrunk(history, violation, player.play_anew)
            raise histories.HistoryViolation(found, shortest)
