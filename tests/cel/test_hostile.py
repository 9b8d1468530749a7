"""Whatever the expression: an answer within bounds, never an exception of Python."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_dra.cel import CompileError
from pytest_dra.cel import Outcome
from pytest_dra.cel import compile_derived
from pytest_dra.cel import environment
from pytest_dra.cel.devices import device_value
from pytest_dra.cel.environments import LENGTH_MAX
from pytest_dra.cel.environments import MINORS
from pytest_dra.cel.program import admission
from pytest_dra.cel.program import compile_any

DEVICE = device_value("d", {"attributes": {"a": {"string": "x" * 64}}})
PIECES = (
    *("()[]{}.?,:!-+*/%<>=&|'\"`\\@$ \n\t" + "0a_"),
    "&&", "||", "==", "in", "device", ".attributes", "['d']", "has(", "1u", "0x", "1e", "'''",
    "r'", "b'", "\\x", "\\U0010ffff", "true", "null", ".map(x, ", "[?", ".?", "//", "\ud800",
    "\u00e9", "\x00", "9" * 40, "matches(", "quantity('1')", "dyn(",
)  # fmt: skip


def outcome(text: str, minor: int = 37) -> Outcome | CompileError:
    try:
        compiled = compile_any(text, environment(minor))
    except CompileError as error:
        return error
    compiled.estimate()
    return compiled.evaluate(DEVICE)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_text_of_pieces(text: str) -> None:
    outcome(text)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    outcome(text)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(MINORS), st.integers(0, 2**32))
def test_a_good_expression_with_a_part_cut_out(minor: int, seed: int) -> None:
    chooser = random.Random(seed)  # noqa: S311 - repeatable, not secret
    text = (
        "has(device.attributes['d'].a) && [1, 2].exists(x, x > 1) ? 'a'.size() == 1 : {'b': 1u}.b"
    )
    start = chooser.randrange(len(text))
    outcome(text[:start] + text[start + chooser.randrange(8) :], minor)


NESTED = {
    "parentheses": ("(", "1", ")"),
    "lists": ("[", "1", "]"),
    "maps": ("{1:", "1", "}"),
    "calls": ("dyn(", "1", ")"),
    "not": ("!", "true", ""),
    "minus": ("-", "1", ""),
    "conditions": ("true ? 1 : ", "1", ""),
    "conditions on the left": ("(", "true", " ? true : false)"),
    "fields": ("", "device", ".a"),
    "indices": ("", "dyn([])", "[0]"),
    "sums": ("", "1", "+1"),
    "ands": ("", "true", "&&true"),
    "macros": ("[1].map(x,", "x", ")"),
    "binds": ("cel.bind(x,1,", "x", ")"),
    "optionals": ("optional.of(", "1", ")"),
    "comparisons": ("(", "1", "==1)"),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("depth", [10, 60, 249, 250, 251, 1000, 5000])
def test_nesting(name: str, depth: int) -> None:
    before, middle, after = NESTED[name]
    began = time.monotonic()
    outcome(before * depth + middle + after * depth)
    # Far above what it takes, far below what a blow-up would take.
    assert time.monotonic() - began < 20


LOOPS = "[1,2,3,4,5,6,7,8,9,0].all(x, " * 7 + "true" + ")" * 7
SLOW = {
    "a pattern that backtracks": "('a' + 'a'.format([])).matches('(a+)+$')",
    "patterns on long texts": f"'{'a' * 5000}!'.matches('^(a|a)*(a|a)*(a|a)*$')",
    "repetitions of repetitions": "'a'.matches('((((a{1,100}){1,100}){1,100}){1,100})')",
    "text that doubles": "['x'].map(a, a + a).map(a, a + a)"
    + ".map(a, a + a)" * 60
    + "[0].size() > 0",
    "a long range": "lists.range(9223372036854775807).size() == 1",
    "a huge exponent": "quantity('1e1000000000') == quantity('1')",
    "a long number": f"quantity('{'9' * 5000}').asApproximateFloat() > 1.0",
    "a long exponent": f"double('1e{'9' * 4000}') > 1.0",
    "a wide format": "'%.1000000000f'.format([1.0]) == ''",
    "a long version": f"semver('1.2.{'9' * 4000}') == semver('1.2.3')",
    "a deep flatten": "[[[[1]]]].flatten(9223372036854775807).size() > 0",
    "many replacements": f"'{'a' * 3000}'.replace('a', '{'b' * 3000}').size() > 0",
    "many parts": f"'{'a' * 5000}'.split('').size() > 0",
    "a long duration": f"duration('{'9' * 5000}h') > duration('1s')",
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("minor", MINORS)
def test_what_could_take_long_ends_soon(name: str, minor: int) -> None:
    began = time.monotonic()
    outcome(SLOW[name], minor)
    # The costliest of them stops at a cost of a million, which takes about a second.
    assert time.monotonic() - began < 30


def test_a_loop_stops_at_the_cost_limit() -> None:
    found = outcome(LOOPS)
    assert isinstance(found, Outcome)
    assert found.error is not None
    assert found.error.kind == "cost"


def test_the_length_is_judged_in_bytes() -> None:
    fits = "'" + "a" * (LENGTH_MAX - 2) + "'"
    assert admission(fits, 1) == "ok"
    assert admission(fits + " ", 1) == "too-long"
    assert admission("'" + "\u00e9" * (LENGTH_MAX // 2) + "'", 1) == "too-long"
    assert admission("true", 1_000_001) == "too-costly"


def test_derived_attributes_need_their_release() -> None:
    with pytest.raises(CompileError) as caught:
        compile_derived("device.driver", environment(36))
    assert caught.value.problems[0].kind == "no-derived"
    assert compile_derived("device.driver", environment(37)).output.name == "string"


def doubled(start: str, step: str, times: int, end: str) -> str:
    """``end`` with a value that ``step`` has made larger ``times`` over; each is called V."""
    text = end.replace("V", f"v{times}")
    for number in range(times, 0, -1):
        text = f"cel.bind(v{number}, {step.replace('V', f'v{number - 1}')}, {text})"
    return f"cel.bind(v0, {start}, {text})"


BOMBS = {
    "concatenation": doubled("[1]", "V + V", 60, "V.size()"),
    "equality of lists": doubled("[1]", "[V, V]", 40, "V == V"),
    "equality of maps": doubled("{'a': 1}", "{'a': V, 'b': V}", 40, "V == V"),
    "membership": doubled("lists.range(900)", "[V, V]", 40, "V in [V]"),
    "inclusion": doubled("[1]", "[V, V]", 40, "V.includes(V)"),
    "sets": doubled("[1]", "[V, V]", 40, "sets.contains(V, V)"),
    "formatting": doubled("[1]", "[V, V]", 40, "'%s'.format([V]).size()"),
    "flattening": doubled("[[1]]", "[V, V]", 40, "V.flatten(50).size()"),
    "replacing": doubled("'aa'", f"V.replace('a', '{'a' * 5000}')", 3, "V.size()"),
    "joining": doubled("'aaaaaaaa'", f"[{'V, ' * 200}].join(V)", 3, "V.size()"),
    "many texts": doubled("'aa'", f"'{'%s' * 300}'.format([{'V, ' * 300}])", 4, "V.size()"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_value_that_doubles_is_stopped(name: str) -> None:
    found = outcome(BOMBS[name])
    assert isinstance(found, Outcome)
    assert found.error is not None
    assert found.error.kind in ("bounded", "cost", "conversion")


def test_what_is_stopped_in_one_evaluation_does_not_hinder_the_next() -> None:
    outcome(BOMBS["concatenation"])
    found = outcome("([1] + [2]).size()")
    assert isinstance(found, Outcome)
    assert found.value == 2
