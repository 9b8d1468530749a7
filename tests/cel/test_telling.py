"""Messages say where and what, and what to write instead."""

from __future__ import annotations

import pytest

from pytest_dra.cel import CompileError
from pytest_dra.cel import compile_selector
from pytest_dra.cel import environment
from pytest_dra.cel import prepare
from pytest_dra.cel.deciding import Deciding
from pytest_dra.cel.telling import compile_error_text
from pytest_dra.cel.telling import error_text
from pytest_dra.cel.telling import place

GPU = 'device.attributes["gpu.example.com"]'


def problems(text: str, minor: int = 37) -> str:
    with pytest.raises(CompileError) as caught:
        compile_selector(text, environment(minor))
    return compile_error_text(caught.value)


STUMBLES = {
    "model == 'A100'": "attributes are read as device.attributes",
    "driver == 'x'": "write device.driver",
    "device.atributes['x'].a == 1": "did you mean device.attributes?",
    "device.model == 'A100'": "attributes are read as device.attributes",
    "device.capacity['x'].memory > quantity('1Gi')": "write x.compareTo(y) > 0",
    "device.capacity['x'].memory > '1Gi'": 'write x.compareTo(quantity("...")) > 0',
    "device.capacity['x'].memory == '1Gi'": 'compare with quantity("...")',
    "semver('1.2.3') >= semver('1.0.0')": "write x.compareTo(y) >= 0",
    "device.driver == 1": "the types differ",
    "1 + 1.0 == 2.0": "there is no mixed arithmetic",
    "claim.name == 'x'": "a selector sees only the device",
    "device.driver.startWith('x')": "did you mean startsWith()?",
}


@pytest.mark.parametrize("text", STUMBLES)
def test_where_users_stumble_there_is_a_hint(text: str) -> None:
    assert f"hint: {STUMBLES[text]}" in problems(text)


def test_a_problem_is_shown_with_line_column_and_caret() -> None:
    text = "device.driver == 'x' &&\n  device.nope == 1"
    assert problems(text).split("\n")[:3] == [
        "2:9: undefined field 'nope' of kubernetes.DRADevice [undefined-field]",
        "    device.nope == 1",
        "          ^",
    ]


def test_columns_count_code_points() -> None:
    assert place("'\u00e9\U0001f600' + 1", 5) == (1, 6)
    assert place("a\nb", 2) == (2, 1)
    assert place("a", -1) == (0, 0)


def test_of_a_long_line_only_a_part_is_shown() -> None:
    text = "true && " * 100 + "nope" + " && true" * 100
    lines = problems(text).split("\n")
    assert len(lines[1]) <= 102
    assert lines[1][lines[2].index("^") :].startswith("nope")


def test_nothing_moves_the_cursor_of_a_terminal() -> None:
    assert "\x1b" not in problems("'\x1b[2J' == 1")


def test_a_missing_attribute_is_shown_with_optional_chaining() -> None:
    program = compile_selector(f"{GPU}.model == 'A100'", environment(37))
    (device,) = prepare([("gpu.example.com", {})])
    error = program.evaluate(device.value).error
    assert error is not None
    told = error_text(program, error)
    assert "no such key: model" in told
    assert "optional chaining" in told
    assert told.split("\n")[-1].strip() == "^"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{GPU}.driver > '1.2.3'", "no such overload of > for (kubernetes.Semver, string)"),
        (f"{GPU}.driver > '1.2.3'", 'hint: write x.compareTo(semver("...")) > 0'),
        (f"{GPU}.driver == '1.2.3'", 'hint: compare with semver("...")'),
        (f"{GPU}.numa.startsWith('1')", "no such overload of startsWith for (int, string)"),
        (f"{GPU}.nope == 1", "here is driver, numa"),
        ("device.attributes['x'].nope == 1", "here is nothing"),
        (f"[1].exists(x, x + {GPU}.driver == 1)", "1:17: no such overload of + ["),
    ],
)  # fmt: skip
def test_an_error_says_what_the_device_has(text: str, told: str) -> None:
    program = compile_selector(text, environment(37))
    attributes = {"driver": {"version": "1.3.0"}, "numa": {"int": 1}}
    (device,) = prepare([("gpu.example.com", {"attributes": attributes})])
    error = program.evaluate(device.value).error
    assert error is not None
    assert told in error_text(program, error, device)


def test_only_the_first_problems_are_shown() -> None:
    lines = problems("\u00e9" * 500).split("\n")
    assert len(lines) == 31
    assert lines[-1] == "and 491 more problems"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("device.driver == 'd' && 1 == 2", "1 == 2"),
        ("device.driver == 'd' || 1 == 2", "device.driver == 'd'"),
        ("device.driver == 'd' && 1 == 1", "device.driver == 'd' && 1 == 1"),
        ("(device.driver == 'd') && (1 == 1 && (2 == 1 || 3 == 1))", "2 == 1 || 3 == 1"),
        ("1 == 1 && has(device.attributes['a:b&&'].c)", "has(device.attributes['a:b&&'].c)"),
        ("1 == 1 && device.attributes['d'].c in [1, 2]", "device.attributes['d'].c in [1, 2]"),
        ("1 == 1 && [1].exists(x, x > 1 && true)", "[1].exists(x, x > 1 && true)"),
        ("1 == 1 && (device.driver == 'd' ? false : true) // why",
         "device.driver == 'd' ? false : true"),
        ("false", "false"),
    ],
)  # fmt: skip
def test_the_condition_that_decided_is_found(text: str, part: str) -> None:
    (device,) = prepare([("d", {})])
    assert Deciding(compile_selector(text, environment(37))).part(device) == part
