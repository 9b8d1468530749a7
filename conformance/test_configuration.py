"""CONF: opaque configuration of classes and claims."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench import Wanted
from pytest_dra.bench.claims import DECOY_DRIVER
from pytest_dra.bench.claims import decoy
from pytest_dra.bench.claims import results_of
from pytest_dra.bench.configuring import FROM_CLASS
from pytest_dra.bench.configuring import entries
from pytest_dra.bench.malforming import LENIENT
from pytest_dra.bench.malforming import UNKNOWN
from pytest_dra.bench.malforming import malformed
from pytest_dra.bench.malforming import with_other_version
from pytest_dra.bench.malforming import with_unknown_field
from pytest_dra.bench.malforming import words_of
from pytest_dra.bench.observing import look
from pytest_dra.bench.observing import observed
from pytest_dra.bench.observing import observed_each
from pytest_dra.bench.sharing import claim_with
from pytest_dra.bench.sharing import share
from pytest_dra.bench.sharing import shared_device
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks import settings
from pytest_dra.checks import state
from pytest_dra.checks.settings import must_differ
from pytest_dra.checks.settings import samples_at_least
from pytest_dra.checks.settings import steady
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import UnsupportedEnvironment

OWN, FOREIGN = "own", "decoy"
"""Requests of a claim: for the driver under test, and for another one."""

NONSENSE: Json = {"pytestDra": [{"nonsense": [None, -1, {"deep": ""}]}]}

REQUESTS = 3
BOTH = 2

SPECS = "cdi/"
"""Where specs lie in the bench's tree."""

MALFORMED = "CONF-003"
"""The case that says that a malformed configuration is refused."""


@case("CONF-001", Level.SHOULD)
def test_conf_001_defaults(dra_bench: Bench) -> None:
    """a claim without configuration uses defaults"""
    if dra_bench.profile.driver.class_config_required:
        raise NotApplicable("driver.class_config_required: its class always brings configuration")
    for device in dra_bench.one_of_each_kind():
        wanted = dra_bench.completed([Wanted(request="req-0", devices=(device,))])
        claim = dra_bench.claims.create(wanted)
        results = results_of(wanted, driver=dra_bench.driver)
        node = dra_bench.instance.node
        claim = dra_bench.claims.allocate(claim, results, node=node, bare=True)
        what = f"Prepare of a claim on device {device.name!r} without any configuration"
        prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what=what)
        dra_bench.unprepare(claim)


@case("CONF-002", Level.MUST)
def test_conf_002_foreign(dra_bench: Bench) -> None:
    """configuration of other drivers is ignored"""
    device = dra_bench.devices(1)[0]
    what = "a claim without configuration of its own"
    plain = steady(lambda: _setting(dra_bench, device, [], what=what))
    foreign = {
        "a claim with nonsense for another driver": entries(DECOY_DRIVER, NONSENSE),
        "a claim with nonsense for another driver and the own request": entries(
            DECOY_DRIVER, NONSENSE, requests=[OWN]
        ),
    }
    for sample in dra_bench.profile.samples.good_config[:1]:
        what = "a claim with configuration for a request without results of the driver"
        foreign[what] = entries(dra_bench.driver, sample, requests=[FOREIGN])
    for what, config in foreign.items():
        seen = _setting(dra_bench, device, config, what=what)
        want = "what is set without that configuration"
        settings.setting_must_be(seen, wanted=plain, others={}, what=what, want=want)


def _setting(bench: Bench, device: Device, config: list[Json], *, what: str) -> str:
    """What is set for the device in a claim that also holds one of another driver."""
    own = Wanted(request=OWN, devices=bench.together(device))
    claim = bench.claims.create([own, Wanted(request=FOREIGN, devices=())], config=config)
    results = [*results_of([own], driver=bench.driver), decoy(FOREIGN)]
    claim = bench.allocate(claim, results, config=config)
    reply = bench.prepare(claim)
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    allocated = claim.pairs(bench.driver)
    prepare.only_these_devices(reply, claim.uid, allocated=allocated, what=what)
    bench.ids_must_resolve(reply, claim, what=what)
    seen = look(bench, claim, device) if bench.profile.hooks.observe else ""
    bench.unprepare(claim)
    return seen


@case("CONF-003", Level.SHOULD)
def test_conf_003_malformed(dra_bench: Bench) -> None:
    """a malformed own configuration is an error of its claim"""
    samples = dra_bench.profile.samples
    device, before = dra_bench.devices(1)[0], dra_bench.instance.tree()
    expected = dra_bench.plain_cycle().residue
    for what, parameters in malformed(samples).items():
        claim = dra_bench.claim([device], config=entries(dra_bench.driver, parameters))
        reply = dra_bench.prepare(claim)
        if what != LENIENT or reply.error_for(claim.uid):
            settings.refusal_must_name_the_configuration(
                reply, claim.uid, words=words_of(parameters), what=f"Prepare of a claim with {what}"
            )
            left = {path for path in dra_bench.residue_of(claim, before) if path.startswith(SPECS)}
            state.nothing_may_be_left(left, expected=(), what=str(claim), after="a failed Prepare")
        dra_bench.unprepare(claim)
        left = set(dra_bench.residue_of(claim, before))
        state.nothing_may_be_left(left, expected=expected, what=f"a claim with {what}")


@case("CONF-004", Level.SHOULD)
def test_conf_004_unknown_field(dra_bench: Bench) -> None:
    """unknown fields of the configuration are refused"""
    device, sample = dra_bench.devices(1)[0], dra_bench.profile.samples.good_config[0]
    claim = dra_bench.claim([device], config=entries(dra_bench.driver, with_other_version(sample)))
    if not dra_bench.prepare(claim).error_for(claim.uid):
        raise Blocked(MALFORMED)
    dra_bench.unprepare(claim)
    claim = dra_bench.claim([device], config=entries(dra_bench.driver, with_unknown_field(sample)))
    reply = dra_bench.prepare(claim)
    what = f"Prepare of a claim whose configuration has the field {UNKNOWN}"
    prepare.must_be_refused(reply, claim.uid, what=what)
    prepare.error_must_name(reply, claim.uid, names={"field": (UNKNOWN,)}, what=what)


@case("CONF-005", Level.SHOULD)
def test_conf_005_precedence(dra_bench: Bench) -> None:
    """claim configuration beats class configuration"""
    samples = samples_at_least(dra_bench.profile.samples.good_config, BOTH)
    wanted = Wanted(request="req-0", devices=tuple(dra_bench.devices(1)))
    name = dra_bench.driver
    what = "a claim with one configuration"
    steady(lambda: observed(dra_bench, wanted, entries(name, samples[0]), what=what))
    alone = [observed(dra_bench, wanted, entries(name, each), what=what) for each in samples]
    must_differ(alone)
    first = entries(name, samples[0], source=FROM_CLASS)
    forms = {
        "a claim with its own configuration and one of its class": entries(name, samples[1]),
        "a claim with two configurations of its class": entries(
            name, samples[1], source=FROM_CLASS
        ),
    }
    for what, second in forms.items():
        seen = observed(dra_bench, wanted, [*first, *second], what=what)
        others = {"the entry before": alone[0]}
        want = "that of the last entry: those of the claim come behind those of its class"
        settings.setting_must_be(seen, wanted=alone[1], others=others, what=what, want=want)


@case("CONF-006", Level.MUST)
def test_conf_006_requests(dra_bench: Bench) -> None:
    """configuration applies to the requests it names"""
    samples, name = (
        samples_at_least(dra_bench.profile.samples.good_config, REQUESTS),
        dra_bench.driver,
    )
    devices = dra_bench.devices(REQUESTS, in_one_claim=True)
    wanted = [Wanted(request=f"req-{n}", devices=(each,)) for n, each in enumerate(devices)]
    what = "a claim with one configuration for all requests"
    steady(lambda: "".join(observed_each(dra_bench, wanted, entries(name, samples[0]), what=what)))
    uniform = [
        observed_each(dra_bench, wanted, entries(name, sample), what=what) for sample in samples
    ]
    must_differ([seen[0] for seen in uniform])
    config = [
        entry
        for each, sample in zip(wanted, samples, strict=True)
        for entry in entries(name, sample, requests=[each.request])
    ]
    what = "a claim with a configuration for each of three requests"
    seen = observed_each(dra_bench, wanted, config, what=what)
    for number, each in enumerate(wanted):
        others: Mapping[str, str] = {
            f"request {other.request}": uniform[n][number]
            for n, other in enumerate(wanted)
            if n != number
        }
        settings.setting_must_be(
            seen[number],
            wanted=uniform[number][number],
            others=others,
            what=f"request {each.request} of {what}",
            want="that of the configuration that names this request",
        )


@case("CONF-008", Level.SHOULD)
def test_conf_008_conflict(dra_bench: Bench) -> None:
    """conflicting settings for one device are refused"""
    device, conflict = shared_device(dra_bench), dra_bench.profile.samples.conflict
    if len(conflict) < BOTH:
        raise UnsupportedEnvironment(
            f"samples.conflict has {len(conflict)} configurations",
            way_out="give two that exclude each other",
        )
    first, second = (_share_with(dra_bench, device, each) for each in conflict[:BOTH])
    what = f"a share of device {device.name!r} with samples.conflict[0]"
    prepare.must_succeed(dra_bench.prepare(first), first.uid, what=f"Prepare of {what}")
    before = look(dra_bench, first, device)
    reply = dra_bench.prepare(second)
    with_other = f"Prepare of another share of device {device.name!r} with samples.conflict[1]"
    prepare.must_be_refused(reply, second.uid, what=with_other)
    settings.setting_must_be(
        look(dra_bench, first, device),
        wanted=before,
        others={},
        what=what,
        want="what was set before the other share was refused",
    )


def _share_with(bench: Bench, device: Device, parameters: Json) -> Claim:
    config = entries(bench.driver, parameters)
    return claim_with(bench, device, [share(bench, device)], config=config)
