"""RST: restart, reboot, and what is lost meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench import comeback
from pytest_dra.bench import releases
from pytest_dra.bench.cycle import residue_of_all
from pytest_dra.bench.cycle import run_in
from pytest_dra.bench.obstacles import unreachable_api
from pytest_dra.bench.residue import Tree
from pytest_dra.bench.statefiles import StateFiles
from pytest_dra.bench.statefiles import truncate
from pytest_dra.cases import case
from pytest_dra.checks import instances
from pytest_dra.checks import prepare
from pytest_dra.checks import slices
from pytest_dra.checks import state
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause
from pytest_dra.wire.answers import NodeReply

BACK_S = 60.0
"""How long a driver may take once it or the API server is back."""

RETRY_PAUSE_S = 2.0
"""How often a kubelet's Unprepare of deleted claims is tried again."""

DOWN_S = 2.0
"""How long the API server is down from the start of the driver."""

NO_STATE = "Prepare changes no file below the driver's data directory"


@case("RST-001", Level.MUST)
def test_rst_001_same_answer(dra_bench: Bench) -> None:
    """Prepare gives the same answer after a driver restart"""
    dra_bench.published()
    dra_bench.plain_cycle()
    claim = dra_bench.claim(dra_bench.devices(1))
    first = dra_bench.prepare(claim)
    prepare.must_succeed(first, claim.uid, what="Prepare")
    with dra_bench.timeline.disturbance("killed driver"):
        comeback.crash(dra_bench)
        again = dra_bench.prepare(claim)
    what = "Prepare after a restart of the driver"
    prepare.must_be_the_same(first, again, claim.uid, what=what)
    dra_bench.ids_must_resolve(again, claim, what=what)
    prepare.must_succeed(dra_bench.unprepare(claim), claim.uid, what="Unprepare after the restart")


@case("RST-002", Level.MUST)
def test_rst_002_unprepare(dra_bench: Bench) -> None:
    """Unprepare works after a driver restart"""
    device = dra_bench.devices(1)[0]
    before = dra_bench.instance.tree()
    claim = _prepared(dra_bench, device)
    with dra_bench.timeline.disturbance("killed driver"):
        before |= comeback.crash(dra_bench)
        reply = dra_bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what="Unprepare after a restart")
        _must_be_gone(dra_bench, [claim], before, what="a claim across a restart")
        _must_be_free(dra_bench, device, what="Prepare on the device after that")


@case("RST-003", Level.MUST, apart_s=0.6)
def test_rst_003_reboot(dra_bench: Bench) -> None:
    """Prepare after a reboot writes the CDI spec again"""
    dra_bench.instance.place.must_reboot_truly()
    device = dra_bench.devices(1)[0]
    before = dra_bench.instance.tree()
    claim = _prepared(dra_bench, device)
    with dra_bench.timeline.disturbance("reboot"):
        before |= comeback.reboot(dra_bench)
        reply = dra_bench.prepare(claim)
        what = "Prepare after a reboot"
        prepare.must_succeed(reply, claim.uid, what=what)
        dra_bench.ids_must_resolve(reply, claim, what=what)
        reply = dra_bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what="Unprepare after a reboot")
        _must_be_gone(dra_bench, [claim], before, what="a claim across a reboot")


@case("RST-004", Level.SHOULD, apart_s=0.5)
def test_rst_004_lost_state(dra_bench: Bench) -> None:
    """a lost state file is survived"""
    instance = dra_bench.instance
    devices = dra_bench.devices(2)
    run_in(dra_bench, devices)
    before, files = instance.tree(), StateFiles(dra_bench)
    again, only = (_prepared(dra_bench, device) for device in devices)
    changed = files.now()
    if not changed:
        raise NotApplicable(NO_STATE)
    with dra_bench.timeline.disturbance("lost files of state"):
        instance.end()
        for path in changed:
            path.unlink(missing_ok=True)
        before |= comeback.start_again(dra_bench, after="the loss of its files of state")
        reply = dra_bench.prepare(again)
        prepare.must_succeed(reply, again.uid, what="Prepare with lost files of state")
        for claim, what in ((again, "Unprepare after that"), (only, "Unprepare alone")):
            reply = dra_bench.unprepare(claim)
            prepare.must_succeed(reply, claim.uid, what=f"{what}, with lost files of state")
        what = "claims whose files of state were lost"
        _must_be_gone(dra_bench, [again, only], before, what=what)


@case("RST-006", Level.SHOULD, apart_s=0.5)
def test_rst_006_corrupt_state(dra_bench: Bench) -> None:
    """a corrupt state file never leads to double use"""
    instance = dra_bench.instance
    device = dra_bench.devices(1)[0]
    if device.spec.get("allowMultipleAllocations"):
        raise NotApplicable("every device may be allocated several times")
    files = StateFiles(dra_bench)
    _prepared(dra_bench, device)
    changed = files.now()
    if not changed:
        raise NotApplicable(NO_STATE)
    dra_bench.spoiled("corrupt files of state")
    with dra_bench.timeline.disturbance("corrupt files of state"):
        instance.end()
        names = truncate(changed)
        instance.start_again()
        dra_bench.forget()
        if instance.plugin() is None:
            state.damage_must_be_named(instance.driver.log_tail(), files=names)
            return
        second = dra_bench.claim([device])
        reply = dra_bench.prepare(second)
    what = f"Prepare of a second claim on device {device.name!r}, whose holder's state is corrupt"
    prepare.must_be_refused(reply, second.uid, what=what)


@case("RST-007", Level.MUST, apart_s=1)
def test_rst_007_deleted_meanwhile(dra_bench: Bench) -> None:
    """pods deleted while the driver was down are cleaned up"""
    devices = dra_bench.up_to(2)
    run_in(dra_bench, devices)
    before = dra_bench.instance.tree()
    claims = [_prepared(dra_bench, device) for device in devices]
    with dra_bench.timeline.disturbance("stopped driver"):
        dra_bench.instance.end()
        for claim in claims:
            dra_bench.claims.delete(claim)
        before |= comeback.start_again(dra_bench, after="SIGTERM")
        deadline = Deadline.after(BACK_S)
        what = "claims that were deleted while the driver was down"
        for claim in claims:
            reply = _unprepare_until(dra_bench, claim, deadline)
            prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")
        _must_be_gone(dra_bench, claims, before, what=what)
        for device in devices:
            _must_be_free(dra_bench, device, what="Prepare on the device of such a claim")


@case("RST-008", Level.SHOULD, apart_s=4)
def test_rst_008_slices_stay(dra_bench: Bench) -> None:
    """a restart keeps the slices"""
    seen = dra_bench.restarts.seen()
    before = instances.kept_of(seen.before)
    # Before the last start something was put beside the slices, which other cases judge.
    for number, published in enumerate(seen.after[:-1], start=1):
        now = instances.kept_of(published)
        instances.slices_must_stay(before, now, during=f"restart {number}")


@case("RST-011", Level.SHOULD, apart_s=2)
def test_rst_011_update(dra_bench: Bench) -> None:
    """an update keeps prepared claims"""
    devices = dra_bench.up_to(2)
    run_in(dra_bench, devices)
    before = dra_bench.instance.tree()
    with dra_bench.timeline.disturbance("previous release"):
        with releases.previous(dra_bench) as added:
            claims = [releases.prepared(dra_bench, device) for device in devices]
        before |= added
        before |= comeback.start_again(dra_bench, after="an update")
        what = "what the previous release has prepared"
        reply = dra_bench.prepare(claims[0])
        prepare.must_succeed(reply, claims[0].uid, what=f"Prepare of {what}")
        dra_bench.ids_must_resolve(reply, claims[0], what=what)
        for claim in claims:
            reply = dra_bench.unprepare(claim)
            prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")
        _must_be_gone(dra_bench, claims, before, what=what)


@case("RST-013", Level.SHOULD, apart_s=2.5)
def test_rst_013_no_api_server(dra_bench: Bench) -> None:
    """an API server that is down at the start is waited for"""
    instance = dra_bench.instance
    wanted = slices.inventory(dra_bench.published())
    with dra_bench.timeline.disturbance("API server down at the start"):
        instance.end()
        instance.delete_slices_of_node()
        with unreachable_api(dra_bench):
            instance.start_again()
            dra_bench.forget()
            comeback.attend(dra_bench, lambda: False, within_s=DOWN_S)
        since = len(dra_bench.timeline)

        def is_back() -> bool:
            written = bool(instance.slice_writes(since=since)) or not wanted
            return written and instance.plugin(within_s=0.0) is not None

        back = comeback.attend(dra_bench, is_back, within_s=BACK_S)
        now = instance.wait_for_slices(
            lambda found: wanted <= slices.inventory(found), within_s=BACK_S if back else 0.0
        )
    slices.driver_must_be_back(
        registered=instance.plugin(within_s=0.0) is not None,
        missing=wanted - slices.inventory(now),
        got=instance.obituary(),
        within_s=BACK_S,
    )


def _unprepare_until(bench: Bench, claim: Claim, deadline: Deadline) -> NodeReply:
    """Unprepare as a kubelet does, again and again."""
    while True:
        reply = bench.unprepare(claim)
        if not reply.error_for(claim.uid) or deadline.passed or bench.instance.over:
            return reply
        pause(RETRY_PAUSE_S)


def _prepared(bench: Bench, device: Device) -> Claim:
    claim = bench.claim([device])
    prepare.must_succeed(bench.prepare(claim), claim.uid, what="Prepare")
    return claim


def _must_be_gone(bench: Bench, claims: Sequence[Claim], before: Tree, *, what: str) -> None:
    """No more is left of unprepared claims than after a plain cycle."""
    left = residue_of_all(claims, bench.instance.tree(), before)
    state.nothing_may_be_left(left, expected=bench.plain_cycle().residue, what=what)


def _must_be_free(bench: Bench, device: Device, *, what: str) -> None:
    successor = bench.claim([device])
    prepare.must_succeed(bench.prepare(successor), successor.uid, what=what)
    bench.unprepare(successor)
