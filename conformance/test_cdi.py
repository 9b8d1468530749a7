"""CDI: specs and ids."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dra.bench import Bench
from pytest_dra.bench import Preparation
from pytest_dra.cases import case
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level

CALLS = 3
"""Prepare calls that a judgement of CDI needs (the catalogue's field ``traffic``)."""

LONG_NAMESPACE = "n" * 63
LONG_NAME = ".".join(("c" * 63, "c" * 63, "c" * 63, "c" * 61))
"""The longest claim name that the API takes: 253 characters of DNS labels."""


def _traffic(bench: Bench) -> Iterator[Preparation]:
    """Every undisturbed Prepare call of the run, at least three and one per device kind."""
    devices = bench.one_of_each_kind()
    while len(devices) < CALLS:
        devices = devices + devices[: CALLS - len(devices)]
    for device in devices:
        claim = bench.claim([device])
        bench.prepare(claim)
        bench.unprepare(claim)
    for preparation in bench.instance.preparations:
        if not preparation.disturbed:
            yield preparation


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


@case("CDI-005", Level.MUST)
def test_cdi_005_no_double_device(dra_bench: Bench) -> None:
    """no CDI device is defined twice in one directory"""
    for preparation in _traffic(dra_bench):
        cdi_specs.no_device_may_be_double(preparation.registry, proof=[preparation.reply.serial])


@case("CDI-010", Level.MUST)
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
