"""SLICE: publishing beside others, under edits and on an API server in trouble."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from collections.abc import Sequence

from pytest_dra.bench import Bench
from pytest_dra.bench import hindrances
from pytest_dra.bench import history
from pytest_dra.bench import idling
from pytest_dra.bench import writing
from pytest_dra.bench.calls import WORKING
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.offer import nothing_offered
from pytest_dra.bench.publishing import slices_of
from pytest_dra.cases import case
from pytest_dra.checks import pools
from pytest_dra.checks import prepare
from pytest_dra.checks import publishing
from pytest_dra.checks import slices
from pytest_dra.checks.idleness import Idleness
from pytest_dra.checks.idleness import single_write
from pytest_dra.checks.idleness import writes_must_not_repeat
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

BACK_S = 90.0
"""Deadline for slices to be right again after an edit: the Go helper repairs at the next multiple
of 30 (60) s."""

BACK_YOUNG_S = 150.0
"""The same for slices younger than a minute, and after trouble with the API server."""

YOUNG_S = 60.0

STARTS = 5
"""Times that a driver is started again which ends on an API error."""

IDLE_S = 20.0
SOAK_IDLE_S = 60.0
"""Idle time that is looked at, of all instances together."""

STRETCH_S = 12.0
"""The longest stretch among it: what is written every 10 s shows."""

TOGETHER_S = 20.0
"""How long two instances run beside each other."""

LOOP_S, LOOP_WRITES = 20.0, 5
"""A driver settles with at most so many writes of each slice in so many seconds."""


@case("SLICE-013", Level.SHOULD)
def test_slice_013_foreign_edit(dra_bench: Bench) -> None:
    """foreign edits of the driver's slices are reverted"""
    instance = dra_bench.instance
    before = dra_bench.published()
    if not slices.inventory(before):
        raise nothing_offered(dra_bench.profile)
    with dra_bench.timeline.disturbance("foreign edit"):
        limit = dra_bench.within(_limit(dra_bench, instance))
        before = instance.slices()
        hindrances.edit(dra_bench, instance)
        now = instance.wait_for_slices(
            lambda now: publishing.says_the_same(now, before), within_s=limit
        )
        dra_bench.reverts = publishing.says_the_same(now, before)
        publishing.must_be_right(now, before=before, after="a foreign edit", within_s=limit)


@case("SLICE-014", Level.SHOULD, settles=True)
def test_slice_014_idle(dra_bench: Bench) -> None:
    """an idle driver does not write slices"""
    dra_bench.published()
    timeline = dra_bench.timeline
    idle_s = dra_bench.setup.soak.either(IDLE_S, SOAK_IDLE_S)

    def seen() -> Idleness | None:
        found = idling.idle(dra_bench)
        wanted = 2 * idle_s if len(found.writes) == 1 else idle_s
        long = found.seconds >= wanted and found.longest >= STRETCH_S
        # Stretches of several instances add up quickly: it may just not have been its turn again.
        alone = all(timeline.now() - write.at >= STRETCH_S for write in found.writes)
        return found if (long and alone) or len(found.writes) > 1 else None

    found = until(timeline, seen, Deadline.after(3 * idle_s)) or idling.idle(dra_bench)
    writes_must_not_repeat(found)
    dra_bench.warnings.add(single_write(found))


@case("SLICE-017", Level.MUST, settles=True)
def test_slice_017_foreign_slices(dra_bench: Bench) -> None:
    """slices of other drivers and other nodes are not touched"""
    dra_bench.family.neighbour.wait_published()
    for bench in (dra_bench, *dra_bench.beside()):
        _foreign_slices_must_be_left(bench)


def _foreign_slices_must_be_left(dra_bench: Bench) -> None:
    driver = dra_bench.driver
    nodes = {*dra_bench.places.values(), *(d["spec"]["nodeName"] for d in dra_bench.family.decoys)}
    for step in history.steps(dra_bench.timeline):
        event = step.entry.event
        if event.identity in dra_bench.places:
            pools.foreign_must_be_left(
                [step.before[name] for name in step.names if name in step.before],
                driver=driver,
                node=dra_bench.places[event.identity],
                others=nodes - {dra_bench.places[event.identity]},
                verb=event.verb,
                proof=(step.entry.serial,),
            )


@case("SLICE-019", Level.MUST, settles=True, apart_s=10)
def test_slice_019_api_errors(dra_bench: Bench) -> None:
    """publishing survives API errors"""
    first = dra_bench.family.neighbour
    second = dra_bench.family.large or first
    limit = dra_bench.within(BACK_YOUNG_S)
    before = {each.name: _published(dra_bench, each) for each in (first, second)}
    with dra_bench.timeline.disturbance("API errors"), contextlib.ExitStack() as stack:
        first.end()
        first.delete_slices_of_node()
        stack.enter_context(hindrances.refused_creates(dra_bench, first))
        first.start_again()
        if second is first:
            _must_be_as_many(first, before[first.name], limit)
            before[first.name] = first.slices()
        with hindrances.refused_updates(dra_bench, second) as refused:
            edited = hindrances.edit(dra_bench, second)
            if dra_bench.reverts is not False:
                now = _wait(second, before[second.name], limit, wanted=publishing.says_the_same)
                if refused.requests:
                    what = f"an edit, and {refused.requests} times 409 for its repair"
                    publishing.must_be_right(
                        now, before=before[second.name], after=what, within_s=limit
                    )
        if not publishing.says_the_same(second.slices(), before[second.name]):
            hindrances.undo(dra_bench, edited)
        if hindrances.lose_watches(dra_bench, second):
            second.delete_slices_of_node()
            what = "lost watches, 410 for the next one, and a deletion"
            now = _wait(second, before[second.name], limit)
            publishing.must_be_as_many(now, before=before[second.name], after=what, within_s=limit)
        if second is not first:
            _must_be_as_many(first, before[first.name], limit)


@case("SLICE-020", Level.SHOULD, settles=True, apart_s=6)
def test_slice_020_dropped_fields(dra_bench: Bench) -> None:
    """fields dropped by the server do not lead to a write loop"""
    dra_bench.published()
    # What another release has sent under a case's hands is no field of this one's.
    own = [entry for entry in dra_bench.instance.slice_writes() if not entry.disturbed]
    gated = hindrances.gated_fields(dra_bench, slices_of(own))
    if not gated:
        raise NotApplicable("no slice has a field that depends on a feature gate")
    instance = dra_bench.new_instance("g")
    try:
        with hindrances.gates_off(dra_bench, gated):
            instance.start()
            most = LOOP_WRITES * max(1, len(dra_bench.published()))
            writes = _writes_until_settled(instance, most)
            publishing.writes_must_be_few(writes, most=most, within_s=LOOP_S)
            fields = [field for names in gated.values() for field in names]
            publishing.dropped_fields_must_be_told(
                fields,
                log=instance.driver.log_tail(),
                events=writing.events_of(dra_bench, instance),
            )
    finally:
        dra_bench.discard(instance)


@case("SLICE-021", Level.MUST, settles=True)
def test_slice_021_one_writer(dra_bench: Bench) -> None:
    """a cluster-wide pool has one writer"""
    neighbour = dra_bench.family.neighbour
    dra_bench.published()
    began = neighbour.began

    def seen() -> bool:
        long = neighbour.timeline.now() - began >= TOGETHER_S
        return long or any(len(users) > 1 for users in writing.writers_at_once(dra_bench).values())

    until(neighbour.timeline, seen, Deadline.after(TOGETHER_S))
    pools.writers_must_be_one(writing.writers_at_once(dra_bench))


@case("SLICE-022", Level.MUST)
def test_slice_022_v1_alone(dra_bench: Bench) -> None:
    """the driver works with resource.k8s.io/v1 alone"""
    instance = dra_bench.instance
    if not slices.inventory(dra_bench.wait_published()):
        publishing.served_versions_must_be_used(writing.requests(dra_bench, instance))
        raise nothing_offered(dra_bench.profile)
    if not dra_bench.profile.driver.registers:
        return
    instance.plugin()
    claim = dra_bench.claim(dra_bench.devices(1))
    reply = dra_bench.prepare(claim)
    try:
        prepare.must_succeed(reply, claim.uid, what="Prepare with resource.k8s.io/v1 alone")
    except Violation as violation:
        publishing.served_versions_must_be_used(writing.requests(dra_bench, instance))
        # Every server serves v1 alone: a driver that prepares nothing is another case's matter.
        raise Blocked(WORKING, violation) from violation


def _limit(bench: Bench, instance: Instance) -> float:
    young = bench.timeline.now() - instance.slice_writes()[-1].at < YOUNG_S
    return BACK_YOUNG_S if young else BACK_S


def _published(bench: Bench, instance: Instance) -> list[Json]:
    instance.wait_published()
    instance.settle()
    found = instance.slices()
    if not slices.inventory(found):
        raise nothing_offered(bench.profile)
    return found


def _must_be_as_many(instance: Instance, before: Sequence[Json], limit_s: float) -> None:
    now = _wait(instance, before, limit_s)
    publishing.must_be_as_many(
        now, before=before, after="429, 429 and 500 for its creates", within_s=limit_s
    )


def _wait(
    instance: Instance,
    before: Sequence[Json],
    limit_s: float,
    *,
    wanted: Callable[[Sequence[Json], Sequence[Json]], bool] = publishing.has_as_many,
) -> list[Json]:
    """Wait until there are as many devices as before, or they say the same (``wanted``).

    A driver that has ended is started again.
    """
    deadline = Deadline.after(limit_s)
    for _ in range(STARTS):
        now = instance.wait_for_slices(lambda now: wanted(now, before), within_s=deadline.left_s())
        if wanted(now, before) or not instance.over:
            break
        instance.start_again()
    return instance.slices()


def _writes_until_settled(instance: Instance, most: int) -> list[int]:
    """Serials of the slice writes in the first seconds; less than that once they have settled."""

    def seen() -> bool:
        return len(instance.slice_writes()) > most or instance.over

    instance.wait_for_slices(lambda now: bool(now) or seen(), within_s=instance.budgets.publish)
    deadline = Deadline.after(LOOP_S)

    def settled() -> bool:
        writes = instance.slice_writes()
        last = writes[-1].at if writes else instance.began
        return seen() or instance.timeline.now() - last >= hindrances.SETTLED_S

    until(instance.timeline, settled, deadline)
    return [entry.serial for entry in instance.slice_writes()]
