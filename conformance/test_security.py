"""SEC: what a driver may do, and what it must not."""

from __future__ import annotations

import secrets

from pytest_dra.bench import Bench
from pytest_dra.bench import modes
from pytest_dra.bench import prison
from pytest_dra.bench import strange
from pytest_dra.bench.configuring import entries
from pytest_dra.bench.granted import everybodys
from pytest_dra.bench.granted import requests_of
from pytest_dra.bench.granted import shipped_to
from pytest_dra.bench.outside import Outside
from pytest_dra.bench.shipping import manifests_must_pass
from pytest_dra.bench.statefiles import StateFiles
from pytest_dra.cases import case
from pytest_dra.checks import escapes
from pytest_dra.checks import exposure
from pytest_dra.checks import prepare
from pytest_dra.checks import reviewing
from pytest_dra.checks import rights
from pytest_dra.checks import secrecy
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import UnsupportedEnvironment

CYCLES = 3
"""Claims after which it is looked at what a driver has made elsewhere."""

CANARY_BYTES = 8
"""Random part of a text that is looked for in the driver's output."""


@case("SEC-001", Level.SHOULD, settles=True)
def test_sec_001_few_rights(dra_bench: Bench) -> None:
    """the node role is minimal"""
    manifests_must_pass(dra_bench, "SEC-001")


@case("SEC-002", Level.MUST, settles=True)
def test_sec_002_enough_rights(dra_bench: Bench) -> None:
    """the shipped role is sufficient"""
    granted = shipped_to(dra_bench)
    for device in dra_bench.instance.devices()[:1]:
        claim = dra_bench.claim([device])
        dra_bench.prepare(claim)
        dra_bench.unprepare(claim)
    requests = requests_of(dra_bench)
    rights.all_must_be_covered(requests, [*granted, *everybodys()])
    dra_bench.warnings.add(rights.unused([entry.event for entry in requests], granted))


@case("SEC-004", Level.SHOULD)
def test_sec_004_closed(dra_bench: Bench) -> None:
    """sockets and state are closed to other users"""
    files = StateFiles(dra_bench)
    claim = dra_bench.claim(dra_bench.devices(1))
    dra_bench.prepare(claim)
    state = modes.names_of(dra_bench, modes.kept_from_containers(dra_bench, files.now()))
    exposure.must_be_closed(modes.of_data(dra_bench), state=state)


@case("SEC-005", Level.SHOULD)
def test_sec_005_no_escape(dra_bench: Bench) -> None:
    """identifiers cannot escape the directories"""
    good = dra_bench.claim(dra_bench.devices(1))
    named = {"uid": good.uid, "name": good.name, "namespace": good.namespace}
    with Outside(dra_bench) as outside:
        before = outside.look()
        for part in named:
            for odd in escapes.odd_names(outside.new, outside.there):
                for method in (prepare.PREPARE, prepare.UNPREPARE):
                    what = f"{method} of a claim whose {part} is {escapes.in_short(odd)}"
                    reply = strange.call_with(dra_bench, **{**named, part: odd}, method=method)
                    prepare.must_be_answered(reply, what=what)
                    escapes.nothing_outside_may_change(before, outside.look(), what=what)
    reply = dra_bench.prepare(good)
    prepare.must_succeed(reply, good.uid, what="Prepare of a good claim after odd names")


@case("SEC-006", Level.MUST)
def test_sec_006_two_namespaces(dra_bench: Bench) -> None:
    """equal names in two namespaces do not mix"""
    devices, name = dra_bench.devices(2), f"shared-{secrets.token_hex(CANARY_BYTES)}"
    spaces = [f"{dra_bench.claims.namespace}-{letter}" for letter in "ab"]
    first, second = (
        dra_bench.claim([device], name=name, namespace=space)
        for device, space in zip(devices, spaces, strict=True)
    )
    replies = {}
    for claim in (first, second):
        what = f"Prepare of {claim}, whose name two claims have"
        replies[claim.uid] = dra_bench.prepare(claim)
        prepare.must_succeed(replies[claim.uid], claim.uid, what=what)
        allocated = claim.pairs(dra_bench.driver)
        prepare.only_these_devices(replies[claim.uid], claim.uid, allocated=allocated, what=what)
        dra_bench.ids_must_resolve(replies[claim.uid], claim, what=what)
    reply = dra_bench.unprepare(first)
    prepare.must_succeed(reply, first.uid, what=f"Unprepare of {first}, whose name two claims have")
    what = f"Prepare of {second} after Unprepare of the claim of the same name in {spaces[0]}"
    again = dra_bench.prepare(second)
    prepare.must_be_the_same(replies[second.uid], again, second.uid, what=what)
    dra_bench.ids_must_resolve(again, second, what=what)


@case("SEC-007", Level.SHOULD, settles=True)
def test_sec_007_privileges(dra_bench: Bench) -> None:
    """container privileges are no larger than needed"""
    manifests_must_pass(dra_bench, "SEC-007")


@case("SEC-008", Level.MAY)
def test_sec_008_declared(dra_bench: Bench) -> None:
    """hooks and host mounts are declared"""
    instance = dra_bench.instance
    seen = {
        pair
        for each in instance.preparations
        for claim in each.claims
        for pair in claim.pairs(dra_bench.driver)
    }
    for device in dra_bench.one_of_each_kind():
        if (device.pool, device.name) not in seen:
            claim = dra_bench.claim([device])
            dra_bench.prepare(claim)
            dra_bench.unprepare(claim)
    found = [
        piece
        for preparation in instance.preparations
        if not preparation.disturbed
        for _, edits in preparation.edits()
        for piece in reviewing.pieces(edits, own=instance.place.own_paths)
    ]
    declared = [each.what for each in dra_bench.profile.injection.review or ()]
    reviewing.all_must_be_declared(found, declared=declared)


@case("SEC-009", Level.SHOULD)
def test_sec_009_not_logged(dra_bench: Bench) -> None:
    """opaque parameters are not logged"""
    device, samples = dra_bench.devices(1)[0], dra_bench.profile.samples
    secret = f"canary{secrets.token_hex(CANARY_BYTES)}"
    for what, parameters in (
        ("a good configuration", samples.good_config[0]),
        *(("a bad configuration", each) for each in samples.bad_config[:1]),
    ):
        config = entries(dra_bench.driver, _with_canary(dra_bench, parameters, secret))
        claim = dra_bench.claim([device], config=config)
        dra_bench.prepare(claim)
        dra_bench.unprepare(claim)
        output = dra_bench.instance.driver.output()
        secrecy.must_not_be_logged(output, secret, what=f"a claim with {what}")


def _with_canary(bench: Bench, parameters: Json, secret: str) -> Json:
    field = bench.profile.samples.canary_field
    try:
        return secrecy.with_text(parameters, field, secret)
    except ValueError as error:
        raise UnsupportedEnvironment(
            f"samples.canary_field: {error}", way_out="name a field of text by its path"
        ) from error


@case("SEC-010", Level.SHOULD, settles=True)
def test_sec_010_inside(dra_bench: Bench) -> None:
    """nothing is written outside the declared directories"""
    escapes.nothing_may_be_made_abroad(prison.made_abroad(dra_bench))
    prison.must_work(dra_bench)
    with prison.jailed(dra_bench) as instance:
        prison.cycles(dra_bench, instance, CYCLES)
        escapes.nothing_may_be_made_outside(prison.made_outside(instance))
