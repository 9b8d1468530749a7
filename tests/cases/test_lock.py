"""The lock file is the list of ids that the suite promises."""

from __future__ import annotations

import re

import pytest

from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.cases import is_live
from pytest_dra.cases import live_cases
from pytest_dra.cases import locked
from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Depth
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
    ids = [(id, is_live(body)) for id, body in bodies()]
    assert len(ids) == len(set(ids)), "an id has two bodies of one kind"
    assert {id for id, _ in ids} == {line.id for line in lock()}


def test_the_suite_reads_the_same_ids_from_its_lock() -> None:
    assert locked() == {line.id for line in lock()}


def test_a_case_of_clusters_alone_has_one_body_for_them_and_no_other() -> None:
    of_clusters = {id for id in locked() if catalogue().case(id).depth is Depth.CLUSTER}
    assert implemented() == locked() - of_clusters
    assert of_clusters <= live_cases()
    assert not of_clusters & {id for id, body in bodies() if not is_live(body)}


def test_a_body_for_clusters_is_of_a_case_that_can_be_judged_there() -> None:
    data = catalogue()
    for id in live_cases():
        assert Depth.CLUSTER in (data.case(id).depth, *data.also_depths[id]), id


@EACH_LINE
def test_the_level_is_that_of_catalogue_and_code(line: Line) -> None:
    assert catalogue().case(line.id).level is line.level
    live = line.id not in implemented()
    assert declared(line.id, live=live).case.level is line.level
