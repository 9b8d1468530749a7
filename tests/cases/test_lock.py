"""The lock file is the list of ids that the suite promises."""

from __future__ import annotations

import re

import pytest

from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from tests.cases.suite import Line
from tests.cases.suite import bodies
from tests.cases.suite import lock
from tests.cases.suite import lock_lines

EACH_LINE = pytest.mark.parametrize("line", lock(), ids=lambda line: line.id)


def test_each_line_has_id_level_and_version() -> None:
    form = re.compile(r"[A-Z]{2,5}-\d{3} (MUST|SHOULD|MAY) \d+\.\d+\.\d+")
    assert [line for line in lock_lines() if not form.fullmatch(line)] == []


def test_the_lines_are_sorted_and_no_id_comes_twice() -> None:
    ids = [line.id for line in lock()]
    assert ids == sorted(set(ids))


def test_each_line_has_a_body_and_each_body_a_line() -> None:
    ids = [id for id, _ in bodies()]
    assert len(ids) == len(set(ids)), "an id has two bodies"
    assert set(ids) == {line.id for line in lock()}


def test_the_suite_reads_the_same_ids_from_its_lock() -> None:
    assert implemented() == {line.id for line in lock()}


@EACH_LINE
def test_the_level_is_that_of_catalogue_and_code(line: Line) -> None:
    assert catalogue().case(line.id).level is line.level
    assert declared(line.id).case.level is line.level
