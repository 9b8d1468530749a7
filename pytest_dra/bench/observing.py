"""What a driver has set for a claim, as the profile's ``hooks.observe`` shows it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

from pytest_dra.bench import hooks
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.devices import Device
from pytest_dra.checks import prepare
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment

HOOK = "hooks.observe"


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


def steady(observe: Callable[[], str]) -> str:
    """What the hook prints for one setting; asked twice, of two claims.

    Raises:
        UnsupportedEnvironment: it prints something else the second time: that proves nothing.
    """
    first, again = observe(), observe()
    if first != again:
        raise UnsupportedEnvironment(
            f"{HOOK} prints {first!r:.100} and then {again!r:.100} "
            "for the same setting of two claims",
            way_out="let it print what is set, and nothing that each claim has anew",
        )
    return first


def samples_at_least(bench: Bench, count: int) -> Sequence[Json]:
    """The first ``samples.good_config``.

    Raises:
        UnsupportedEnvironment: there are fewer.
    """
    samples = bench.profile.samples.good_config
    if len(samples) < count:
        raise UnsupportedEnvironment(
            f"{count} different settings are needed, samples.good_config has {len(samples)}",
            way_out=f"give as many that {HOOK} tells apart",
        )
    return samples[:count]


def must_differ(
    seen: Sequence[str],
    *,
    of: str = "samples.good_config",
    way_out: str = "give three samples.good_config that it tells apart",
) -> None:
    """Settings that look alike prove nothing.

    Raises:
        UnsupportedEnvironment: they do; ``of`` says what differs, ``way_out`` what would help.
    """
    if len(set(seen)) < len(seen):
        raise UnsupportedEnvironment(f"{HOOK} prints the same for different {of}", way_out=way_out)


def look(bench: Bench, claim: Claim, device: Device) -> str:
    """What the hook prints for a prepared claim's device; names and uid of the claim left out."""
    command = bench.profile.hooks.observe
    values = hooks.values_of(claim, device)
    text = hooks.run(bench.instance, command, name=HOOK, values=values)
    return text.replace(claim.uid, "UID").replace(claim.name, "NAME")
