"""Judgements of inventories that change with claims."""

from __future__ import annotations

from pytest_dra.checks import partitions
from tests.checks.raising import Said
from tests.checks.raising import said


def test_one_device_whose_claim_makes_a_partition_is_enough() -> None:
    assert said(lambda: partitions.some_must_come(["b"], tried=["a", "b"])) is None


def test_partitions_that_never_come_are_told_with_what_was_tried() -> None:
    assert said(lambda: partitions.some_must_come([], tried=["b", "a"])) == Said(
        "hooks.inventory while claims are prepared",
        "the same as before, for claims of a, b",
        "one more partition for a claim of one of these devices (DynamicPartition)",
    )


def test_an_inventory_as_before_is_let_pass() -> None:
    assert said(lambda: partitions.must_be_as_before(("a",), ("a",), what="Unprepare")) is None


def test_what_is_left_and_what_is_missing_is_told() -> None:
    judged = said(lambda: partitions.must_be_as_before(("a",), ("b",), what="Unprepare"))
    assert judged == Said(
        "hooks.inventory after Unprepare", "more: ['b'], less: ['a']", "as before Prepare"
    )


def test_the_same_line_twice_is_more_than_once() -> None:
    judged = said(lambda: partitions.must_be_as_before(("a",), ("a", "a"), what="Unprepare"))
    assert judged is not None
