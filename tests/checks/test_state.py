"""Judgements of what is left on disk."""

from __future__ import annotations

import pytest

from pytest_dra.checks import state
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(
            lambda: state.nothing_may_be_left((), expected=(), what="A"), id="nothing is left"
        ),
        pytest.param(
            lambda: state.nothing_may_be_left({"p/{uid}"}, expected={"p/{uid}", "p"}, what="A"),
            id="less is left than a plain cycle leaves",
        ),
        pytest.param(
            lambda: state.sizes_must_be_the_same({"a": 1, "b": 2}, {"a": 1}, what="after"),
            id="a file is gone",
        ),
        pytest.param(
            lambda: state.sizes_must_be_the_same(
                {"a": 100}, {"a": 100 + state.COUNTER_BYTES}, what="after"
            ),
            id="a counter grew",
        ),
        pytest.param(
            lambda: state.damage_must_not_block("", output="", files=["a.json"]),
            id="unprepared-in-spite-of-damage",
        ),
        pytest.param(
            lambda: state.damage_must_not_block("mend /x/a.json", output="", files=["a.json"]),
            id="an error that names the damaged file",
        ),
        pytest.param(
            lambda: state.damage_must_not_block("gone", output="bad: a.json", files=["a.json"]),
            id="a driver that has ended with the name of the damaged file",
        ),
    ],
)
def test_what_is_allowed_is_let_pass(judgement: Judgement) -> None:
    assert said(judgement) is None


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        pytest.param(
            lambda: state.nothing_may_be_left(
                {"cdi/{uid}.json", "a", "plugins/x"}, expected={"a"}, what="claim A"
            ),
            Said(
                "after Unprepare of claim A",
                "left: cdi/{uid}.json, plugins/x",
                "nothing that Prepare made",
            ),
            id="residue",
        ),
        pytest.param(
            lambda: state.nothing_may_be_left(
                {"cdi/{uid}.json"}, expected=(), what="claim A", after="a failed Prepare"
            ),
            Said(
                "after a failed Prepare of claim A",
                "left: cdi/{uid}.json",
                "nothing that Prepare made",
            ),
            id="residue-of-a-failure",
        ),
        pytest.param(
            lambda: state.nothing_may_be_left(
                [f"f{number}" for number in range(9)], expected=(), what="claim A"
            ),
            Said(
                "after Unprepare of claim A",
                "left: f0, f1, f2, f3, f4",
                "nothing that Prepare made",
            ),
            id="residue-of-many-names-five",
        ),
        pytest.param(
            lambda: state.sizes_must_be_the_same({"a": 1}, {"a": 1, "b": 0}, what="after 10 calls"),
            Said("after 10 calls", "new files: b", "the same files"),
            id="new-file",
        ),
        pytest.param(
            lambda: state.sizes_must_be_the_same({"a": 100}, {"a": 165}, what="after 10 calls"),
            Said("a after 10 calls", "165 bytes", "100 bytes, as at first"),
            id="grown-file",
        ),
        pytest.param(
            lambda: state.damage_must_not_block(
                "UNKNOWN: Expecting value", output="", files=["z4", "z2", "z1", "z3"]
            ),
            Said(
                "Unprepare with damaged z1, z2, z3",
                "UNKNOWN: Expecting value",
                "OK, or an error (of a driver that has ended: output) that names the file",
            ),
            id="blocked-by-damage",
        ),
        pytest.param(
            lambda: state.damage_must_be_named("starting\nEOF\n", files=["z2", "z1"]),
            Said(
                "start with damaged z1, z2",
                "the driver does not register; the end of its output: EOF",
                "registered, or output that names the file",
            ),
            id="nameless-damage",
        ),
    ],
)
def test_what_is_left_is_told_with_its_path(judgement: Judgement, expected: Said) -> None:
    assert said(judgement) == expected


def test_output_that_names_one_of_the_damaged_files_is_clear() -> None:
    state.damage_must_be_named("cannot parse /var/lib/x/z2\n", files=["z1", "z2"])


def test_a_temporary_file_of_a_crash_is_nobodys_matter() -> None:
    left = {
        "cdi/.odd-{uid}.yaml.partial",
        "cdi/spec.123.tmp",
        "cdi/odd-{uid}.yaml",
        "plug/claims/{uid}.json",
        "plug/claims/{uid}.json.tmp",
    }
    made = {"cdi/odd-{uid}.yaml", "plug/claims/{uid}.json"}
    assert state.apart_from_unfinished(left, made=made) == made


def test_a_spec_is_left_whatever_its_name() -> None:
    assert state.apart_from_unfinished({"cdi/5f3a.json"}, made=()) == {"cdi/5f3a.json"}
