"""The plain cycle: Prepare, then Unprepare, of one claim on one device.

What already goes wrong there is reported by its own cases. Every other case judges what differs
from it, so that one defect fails one case.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_dra import cdi
from pytest_dra.bench.residue import normalised

if TYPE_CHECKING:
    from pytest_dra.bench.bench import Bench
    from pytest_dra.bench.claims import Claim
    from pytest_dra.bench.devices import Device
    from pytest_dra.bench.residue import Tree
    from pytest_dra.wire.answers import NodeReply


@dataclasses.dataclass(frozen=True, slots=True)
class PlainCycle:
    """What one cycle showed.

    ``resolves``: each CDI id of the answer resolved when it arrived (also true without ids).
    ``made``: paths that Prepare had added when it answered, with the claim's uid and name replaced.
    ``residue``: those that were left in the end.
    ``names_pool``: the returned device had a pool name.
    """

    resolves: bool
    made: frozenset[str]
    residue: frozenset[str]
    names_pool: bool

    @classmethod
    def run(cls, bench: Bench) -> PlainCycle:
        """Run two cycles and look at the second: the first may make what stays for good."""
        device = bench.devices(1)[0]
        for _ in range(2):
            before = bench.instance.tree()
            claim = bench.claim([device])
            reply = bench.prepare(claim)
            if reply.error_for(claim.uid):
                reply = with_configuration(bench, claim, reply)
            registry = bench.last_preparation().registry
            made = residue_of(claim, bench.instance.tree(), before)
            bench.unprepare(claim)
            left = residue_of(claim, bench.instance.tree(), before)
            bench.claims.delete(claim)
        devices = reply.devices_of(claim.uid)
        ids = [id for each in devices for id in each.cdi_device_ids]
        return cls(
            resolves=not unresolved(registry, ids),
            made=made,
            residue=left,
            names_pool=all(each.pool_name for each in devices),
        )


def with_configuration(bench: Bench, claim: Claim, refused: NodeReply) -> NodeReply:
    """Prepare a refused claim once more with what its class may have to bring.

    If that helps, every claim gets it from now on. Else the answer is the first one again.
    """
    if not bench.configuring.may_help():
        return refused
    bench.configuring.needed = True
    results = claim.results
    bench.allocate(bench.claims.deallocate(claim), results)
    reply = bench.prepare(claim)
    if not reply.error_for(claim.uid):
        return reply
    bench.configuring.needed = False
    bench.allocate(bench.claims.deallocate(claim), results)
    return refused


def run_in(bench: Bench, devices: Sequence[Device]) -> None:
    """Prepare and release each device by itself: what that makes for good is no later claim's.

    A driver may make a CDI device for a physical one when that is first needed, and leave it (V21).
    """
    for device in devices:
        claim = bench.claim([device])
        bench.prepare(claim)
        bench.unprepare(claim)
        bench.claims.delete(claim)


def residue_of(claim: Claim, now: Tree, before: Tree) -> frozenset[str]:
    """Paths that a claim has left, with its uid and name replaced."""
    return residue_of_all([claim], now, before)


def residue_of_all(claims: Sequence[Claim], now: Tree, before: Tree) -> frozenset[str]:
    """Paths that claims have left together, with their uids and names replaced."""
    left = now.added_since(before) | now.naming([claim.uid for claim in claims])
    names = {text: word for each in claims for text, word in _words(each)}
    return normalised(left, names)


def _words(claim: Claim) -> tuple[tuple[str, str], tuple[str, str]]:
    return (claim.uid, "{uid}"), (claim.name, "{name}")


def unresolved(registry: cdi.Registry, ids: list[str]) -> tuple[str, ...]:
    """Those of ``ids`` that do not resolve to a device."""
    try:
        registry.resolve(ids)
    except cdi.UnresolvedError as error:
        return error.missing
    except cdi.CdiError:
        return tuple(ids)
    return ()
