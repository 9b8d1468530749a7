"""ATTR: attributes and capacities of published devices."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench.publishing import slices_of
from pytest_dra.bench.shipping import classes_must_select
from pytest_dra.bench.shipping import manifests_must_pass
from pytest_dra.cases import case
from pytest_dra.checks import attributes
from pytest_dra.checks import prepare
from pytest_dra.spec import Level
from pytest_dra.timeline import Mark
from pytest_dra.waiting import pause

HELD_S = 5.0
"""So long are claims held: what a driver publishes of their use it has published by then."""


@case("ATTR-001", Level.MUST, settles=True)
def test_attr_001_one_typed_value(dra_bench: Bench) -> None:
    """each attribute has exactly one typed value"""
    dra_bench.inspecting.must_pass("ATTR-001")


@case("ATTR-002", Level.MUST, settles=True)
def test_attr_002_qualified_names(dra_bench: Bench) -> None:
    """attribute and capacity keys are qualified names"""
    dra_bench.inspecting.must_pass("ATTR-002")


@case("ATTR-003", Level.MUST, settles=True)
def test_attr_003_limits(dra_bench: Bench) -> None:
    """devices keep to the attribute limits"""
    dra_bench.inspecting.must_pass("ATTR-003")


@case("ATTR-004", Level.MUST, settles=True)
def test_attr_004_legal_values(dra_bench: Bench) -> None:
    """string and version values are legal"""
    dra_bench.inspecting.must_pass("ATTR-004")


@case("ATTR-005", Level.SHOULD, settles=True)
def test_attr_005_one_type(dra_bench: Bench) -> None:
    """an attribute has one type everywhere"""
    dra_bench.inspecting.must_pass("ATTR-005")


@case("ATTR-006", Level.SHOULD, settles=True)
def test_attr_006_alike(dra_bench: Bench) -> None:
    """devices of one kind have the same attributes"""
    dra_bench.inspecting.must_pass("ATTR-006")


@case("ATTR-007", Level.MUST, settles=True)
def test_attr_007_selectable(dra_bench: Bench) -> None:
    """every published value can be selected by CEL"""
    dra_bench.inspecting.must_pass("ATTR-007")


@case("ATTR-008", Level.SHOULD, settles=True)
def test_attr_008_standard(dra_bench: Bench) -> None:
    """standard attributes are used as defined"""
    dra_bench.inspecting.must_pass("ATTR-008")


@case("ATTR-009", Level.MUST, settles=True)
def test_attr_009_classes(dra_bench: Bench) -> None:
    """shipped DeviceClasses select the driver's devices and no others"""
    classes_must_select(dra_bench)


@case("ATTR-010", Level.MAY, settles=True)
def test_attr_010_driver_version(dra_bench: Bench) -> None:
    """an accelerator driver publishes its kernel driver version"""
    dra_bench.inspecting.must_pass("ATTR-010")


@case("ATTR-011", Level.SHOULD, settles=True, apart_s=11)
def test_attr_011_total(dra_bench: Bench) -> None:
    """capacity is the device's total"""
    instance = dra_bench.instance
    dra_bench.published()
    before, since = instance.slices(), len(dra_bench.timeline)
    chosen = dra_bench.kinds_at_once()

    def must_be_as_before(while_: str) -> None:
        for entry in instance.slice_writes(since=since):
            written = slices_of([entry])
            attributes.capacity_must_stay(before, written, while_=while_, proof=[entry.serial])
        attributes.capacity_must_stay(before, instance.slices(), while_=while_)

    # What a driver that counts use writes now has its reason, if not a good one.
    with dra_bench.timeline.disturbance("a claim of each kind"):
        claims = [dra_bench.claim([device]) for device in chosen]
        for claim in claims if dra_bench.profile.driver.registers else ():
            prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
        pause(HELD_S)
        must_be_as_before("while a claim of each kind holds its device")
        text = "claims of each kind are released"
        dra_bench.timeline.add(Mark(text=text, instance=instance.name))
        for claim in claims:
            if dra_bench.profile.driver.registers:
                dra_bench.unprepare(claim)
            else:
                dra_bench.claims.delete(claim)
    must_be_as_before("after the release of a claim of each kind")


@case("ATTR-012", Level.SHOULD, settles=True)
def test_attr_012_quantities(dra_bench: Bench) -> None:
    """quantities are canonical and not negative"""
    dra_bench.inspecting.must_pass("ATTR-012")


@case("ATTR-013", Level.MUST, settles=True)
def test_attr_013_valid_objects(dra_bench: Bench) -> None:
    """shipped classes and templates are valid objects"""
    manifests_must_pass(dra_bench, "ATTR-013")


@case("ATTR-014", Level.SHOULD, settles=True)
def test_attr_014_one_slash(dra_bench: Bench) -> None:
    """keys have at most one slash"""
    dra_bench.inspecting.must_pass("ATTR-014")
