"""RST: restart, crash, upgrade."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.spec import Level
from pytest_dra.spec import Violation


@case("RST-001", Level.MUST)
def test_rst_001_same_answer(dra_bench: Bench) -> None:
    """Prepare gives the same answer after a driver restart"""
    instance = dra_bench.instance
    dra_bench.published()
    dra_bench.plain_cycle()
    claim = dra_bench.claim(dra_bench.devices(1))
    first = dra_bench.prepare(claim)
    prepare.must_succeed(first, claim.uid, what="Prepare")
    with dra_bench.timeline.disturbance("killed driver"):
        instance.kill()
        instance.start_again()
        dra_bench.forget()
        if instance.plugin() is None:
            raise Violation(
                "start after SIGKILL",
                got=instance.obituary() or "the driver does not register",
                want=f"registered and connected within {instance.budgets.start:g} s",
            )
        again = dra_bench.prepare(claim)
    what = "Prepare after a restart of the driver"
    prepare.must_be_the_same(first, again, claim.uid, what=what)
    dra_bench.ids_must_resolve(again, claim, what=what)
    prepare.must_succeed(dra_bench.unprepare(claim), claim.uid, what="Unprepare after the restart")
