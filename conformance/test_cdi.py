"""CDI: specs and ids."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench import Preparation
from pytest_dra.cases import case
from pytest_dra.checks import arrivals
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import edits
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.profile.model import Hardware
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

CALLS = 3
"""Prepare calls that a judgement of CDI needs (the catalogue's field ``traffic``)."""

TRIES = 50
"""Claims that are made for a uid that starts with a digit: without one in 5 of 8 it is by chance
once in 10^21 runs."""

LONG_NAMESPACE = "n" * 63
LONG_NAME = ".".join(("c" * 63, "c" * 63, "c" * 63, "c" * 61))
"""The longest claim name that the API takes: 253 characters of DNS labels."""


def _traffic(bench: Bench) -> Iterator[Preparation]:
    """Every undisturbed Prepare call of the run, at least three and one per device kind."""
    for device in _missing(bench):
        claim = bench.claim([device])
        bench.prepare(claim)
        bench.unprepare(claim)
    yield from _undisturbed(bench)


def _undisturbed(bench: Bench) -> list[Preparation]:
    return [each for each in bench.instance.preparations if not each.disturbed]


def _missing(bench: Bench) -> list[Device]:
    """A device for each Prepare call that the run lacks."""
    seen: set[prepare.Pair] = set()
    answered = 0
    for preparation in _undisturbed(bench):
        for claim in preparation.claims:
            if not preparation.reply.error_for(claim.uid):
                seen |= claim.pairs(bench.driver)
                answered += 1
    devices = bench.one_of_each_kind()
    wanted = [device for device in devices if (device.pool, device.name) not in seen]
    more = itertools.cycle(devices)
    while len(wanted) + answered < CALLS:
        wanted.append(next(more))
    return wanted


@case("CDI-001", Level.MUST)
def test_cdi_001_valid_files(dra_bench: Bench) -> None:
    """every spec file of the driver is valid CDI"""
    for preparation in _traffic(dra_bench):
        cdi_specs.files_must_load(preparation.registry, before=(), proof=[preparation.reply.serial])


@case("CDI-002", Level.MUST)
def test_cdi_002_ids_resolve(dra_bench: Bench) -> None:
    """returned CDI ids resolve when the response arrives"""
    for preparation in _traffic(dra_bench):
        for claim in preparation.claims:
            cdi_specs.ids_must_resolve(
                preparation.registry,
                cdi_specs.ids_of(preparation.reply, claim.uid),
                what=str(claim),
                proof=[preparation.reply.serial],
            )


@case("CDI-003", Level.SHOULD)
def test_cdi_003_names_not_reused(dra_bench: Bench) -> None:
    """a CDI device name is not reused with other content"""
    device = dra_bench.devices(1)[0]
    for config in _two_configurations(dra_bench):
        claim = dra_bench.claim([device], config=config)
        dra_bench.prepare(claim)
        dra_bench.unprepare(claim)
    cdi_specs.names_must_keep_their_edits(
        cdi_specs.NamedEdits(id=id, claim=str(claim), edits=found, serial=preparation.reply.serial)
        for preparation in _undisturbed(dra_bench)
        for claim, ids in preparation.ids()
        for id in ids
        if (found := cdi_specs.edits_of(preparation.registry, [id])) is not None
    )


def _two_configurations(bench: Bench) -> list[list[Json]]:
    """``config`` for two claims, with different samples where the profile has them."""
    samples = bench.profile.samples.good_config if bench.profile.declares("OpaqueConfig") else ()
    made: list[list[Json]] = [
        [{"opaque": {"driver": bench.driver, "parameters": each}}] for each in samples[:2]
    ]
    return [*made, [], []][:2]


@case("CDI-004", Level.SHOULD)
def test_cdi_004_whole_at_once(dra_bench: Bench) -> None:
    """spec files appear atomically"""
    list(_traffic(dra_bench))
    events = dra_bench.instance.specs.events()
    arrivals.specs_must_be_whole([entry for entry in events if not entry.disturbed])


@case("CDI-005", Level.MUST)
def test_cdi_005_no_double_device(dra_bench: Bench) -> None:
    """no CDI device is defined twice in one directory"""
    for preparation in _traffic(dra_bench):
        cdi_specs.no_device_may_be_double(preparation.registry, proof=[preparation.reply.serial])


@case("CDI-006", Level.SHOULD)
def test_cdi_006_run_time_directory(dra_bench: Bench) -> None:
    """claim-specific specs live in the run-time directory"""
    specs = dra_bench.instance.specs
    traffic = list(_traffic(dra_bench))
    events = specs.events()
    removed = arrivals.removed(events)
    for preparation in traffic:
        arrivals.claims_specs_must_not_be_static(
            [each for each in events if preparation.began <= each.serial < preparation.ended],
            static=specs.static_dir,
            removed=removed,
            uids=[claim.uid for claim in preparation.claims],
            proof=[preparation.reply.serial],
        )


@case("CDI-007", Level.MUST)
def test_cdi_007_host_paths(dra_bench: Bench) -> None:
    """host paths in the edits exist at Prepare time"""
    absent = dra_bench.profile.injection.absent_paths
    try:
        for preparation in _traffic(dra_bench):
            for claim, found in preparation.edits():
                edits.host_paths_must_exist(
                    found,
                    preparation.host,
                    absent=absent or (),
                    what=str(claim),
                    proof=[preparation.reply.serial],
                )
    except Violation as violation:
        if absent is None and dra_bench.profile.launch.hardware is not Hardware.REAL:
            raise UnsupportedEnvironment(
                f"{violation.where}: {violation.got}, and without hardware it may be absent",
                way_out="list such paths in injection.absent_paths, or an empty list if every path "
                "exists on this bench",
            ) from violation
        raise


@case("CDI-008", Level.MAY)
def test_cdi_008_lowest_version(dra_bench: Bench) -> None:
    """cdiVersion is the lowest that fits"""
    claim = _claim_with_digit(dra_bench)
    dra_bench.prepare(claim)
    dra_bench.unprepare(claim)
    cdi_specs.versions_must_be_the_lowest(each.registry for each in _traffic(dra_bench))


@case("CDI-009", Level.SHOULD)
def test_cdi_009_not_writable(dra_bench: Bench) -> None:
    """spec files cannot be changed by others"""
    for preparation in _traffic(dra_bench):
        cdi_specs.only_the_owner_may_write(preparation.modes, proof=[preparation.reply.serial])


@case("CDI-010", Level.MUST, apart_s=1.5)
def test_cdi_010_longest_names(dra_bench: Bench) -> None:
    """the longest legal claim names work"""
    expected = dra_bench.plain_cycle().residue
    before = dra_bench.instance.tree()
    claim = dra_bench.claim(dra_bench.devices(1), name=LONG_NAME, namespace=LONG_NAMESPACE)
    what = "a claim with the longest legal names"
    reply = dra_bench.prepare(claim)
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    dra_bench.ids_must_resolve(reply, claim, what=what)
    prepare.must_succeed(dra_bench.unprepare(claim), claim.uid, what=f"Unprepare of {what}")
    state.nothing_may_be_left(dra_bench.residue_of(claim, before), expected=expected, what=what)


@case("CDI-012", Level.MUST)
def test_cdi_012_requests_apart(dra_bench: Bench) -> None:
    """request_names separates the requests of a claim"""
    claim = dra_bench.claim(dra_bench.devices(2, in_one_claim=True))
    reply = dra_bench.prepare(claim)
    requests: dict[prepare.Pair, list[str]] = {}
    for each in claim.results:
        requests.setdefault((each["pool"], each["device"]), []).append(each["request"])
    prepare.requests_must_be_apart(
        reply, claim.uid, requests=requests, what="a claim with two requests"
    )


@case("CDI-014", Level.MUST)
def test_cdi_014_version(dra_bench: Bench) -> None:
    """the declared cdiVersion covers the fields used"""
    dra_bench.prepare(_claim_with_digit(dra_bench))
    for preparation in _traffic(dra_bench):
        cdi_specs.versions_must_cover_the_fields(
            preparation.registry,
            library=dra_bench.instance.specs.library,
            proof=[preparation.reply.serial],
        )


def _claim_with_digit(bench: Bench) -> Claim:
    """A claim whose uid starts with a digit, as five of eight do; the name of a device that is
    made of it needs a newer cdiVersion."""
    device = bench.devices(1)
    for _ in range(TRIES):
        claim = bench.claim(device)
        if claim.uid[:1].isdigit():
            return claim
        bench.claims.delete(claim)
    raise UnsupportedEnvironment(
        f"the API server made no uid with a digit at its start in {TRIES} claims",
        way_out="--dra-cluster=embedded, whose uids are random",
    )


@case("CDI-015", Level.MUST)
def test_cdi_015_noticed(dra_bench: Bench) -> None:
    """spec files arrive in a way that runtimes notice"""
    list(_traffic(dra_bench))
    specs = dra_bench.instance.specs
    events = specs.events()
    before: dict[Path, str] = {}
    looked = 0
    for preparation in dra_bench.instance.preparations:
        until_then = [entry for entry in events if entry.serial < preparation.ended]
        digests = {file.path: file.digest for file in preparation.registry.files}
        if not preparation.disturbed:
            proof = [preparation.reply.serial]
            arrivals.specs_must_be_noticed(
                until_then, preparation.files(), library=specs.library, proof=proof
            )
            arrivals.texts_must_not_change_unseen(
                [entry for entry in until_then if entry.serial >= looked],
                before=before,
                after=digests,
                library=specs.library,
                proof=proof,
            )
        before, looked = digests, preparation.ended


@case("CDI-016", Level.MUST)
def test_cdi_016_no_crash(dra_bench: Bench) -> None:
    """no spec file crashes the runtime"""
    for preparation in _traffic(dra_bench):
        cdi_specs.no_file_may_crash(
            preparation.registry,
            library=dra_bench.instance.specs.library,
            proof=[preparation.reply.serial],
        )


@case("CDI-017", Level.MUST)
def test_cdi_017_bind_mounts(dra_bench: Bench) -> None:
    """mounts of host paths are bind mounts"""
    for preparation in _traffic(dra_bench):
        for claim, found in preparation.edits():
            edits.mounts_must_be_binds(
                found,
                preparation.host,
                runtime=dra_bench.instance.specs.library.runtime,
                what=str(claim),
                proof=[preparation.reply.serial],
            )
