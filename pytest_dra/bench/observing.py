"""What a driver has set for a claim, as the profile's ``hooks.observe`` shows it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dra.bench import hooks
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.devices import Device
from pytest_dra.checks import prepare
from pytest_dra.checks.settings import HOOK
from pytest_dra.spec import Json


def observed(bench: Bench, wanted: Wanted, config: Sequence[Json], *, what: str) -> str:
    """Prepare a claim, look at what is set, and release it again; its names and uid are left out.

    Raises:
        Violation: it is not prepared.
    """
    return observed_each(bench, [wanted], config, what=what)[0]


def observed_each(
    bench: Bench, wanted: Sequence[Wanted], config: Sequence[Json], *, what: str
) -> list[str]:
    """The same for the first device of each request of a claim.

    Raises:
        Violation: it is not prepared.
    """
    claim = bench.claim_for(wanted, config=config)
    return _looked(bench, claim, [each.devices[0] for each in wanted], what=what)


def look_once(bench: Bench, claim: Claim, device: Device, *, what: str) -> str:
    """The same for a device of a claim that has been allocated.

    Raises:
        Violation: it is not prepared.
    """
    return _looked(bench, claim, [device], what=what)[0]


def _looked(bench: Bench, claim: Claim, devices: Sequence[Device], *, what: str) -> list[str]:
    prepare.must_succeed(bench.prepare(claim), claim.uid, what=f"Prepare of {what}")
    seen = [look(bench, claim, each) for each in devices]
    bench.unprepare(claim)
    return seen


def look(bench: Bench, claim: Claim, device: Device) -> str:
    """What the hook prints for a prepared claim's device; names and uid of the claim left out."""
    command = bench.profile.hooks.observe
    values = hooks.values_of(claim, device)
    text = hooks.run(bench.instance, command, name=HOOK, values=values)
    return text.replace(claim.uid, "UID").replace(claim.name, "NAME")
