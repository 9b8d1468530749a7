"""Nothing that a driver says can break a terminal, a YAML file or an XML file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dra.report.plain import LINE_LIMIT
from pytest_dra.report.plain import TEXT_LIMIT
from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import plain
from pytest_dra.report.plain import shown
from pytest_dra.report.plain import spelled_ids

NOTE = 40
"""No limit in use is smaller than the note that a text was cut."""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("a\x1b[31mb", "a\\x1b[31mb", id="terminal-escape"),
        pytest.param("a\x00b", "a\\x00b", id="nul"),
        pytest.param("a\udc80b", "a\\udc80b", id="half-a-surrogate-pair"),
        pytest.param("a\u202eb", "a\\u202eb", id="direction-mark"),
        pytest.param("a\ufffeb", "a\\ufffeb", id="not-in-xml"),
        pytest.param("a\u0085b", "a\\x85b", id="another-line-end"),
        pytest.param("a\r\nb\tc", "a\nb\tc", id="layout"),
        pytest.param("Gerät 東", "Gerät 東", id="letters"),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, wanted: str) -> None:
    assert plain(text) == wanted


@given(st.text())
def test_plain_text_is_printable_and_stays_as_it_is(text: str) -> None:
    once = plain(text)
    assert once.replace("\n", "").replace("\t", "").isprintable() or once == ""
    assert plain(once) == once


@given(st.text(max_size=20), st.integers(min_value=NOTE, max_value=80))
def test_plain_text_is_bounded_and_a_second_pass_changes_nothing(text: str, limit: int) -> None:
    for bounded in (plain, one_line):
        once = bounded(text * 10, limit)
        assert len(once) <= limit
        assert bounded(once, limit) == once


def test_a_cut_text_says_how_long_it_was() -> None:
    assert plain("x" * 100, 40) == "xxxxxxxxxxxxx... (100 characters in all)"


def test_one_line_has_no_line_ends() -> None:
    assert one_line("a\n b\t\tc") == "a b c"
    assert "\n" not in one_line("a\n" * LINE_LIMIT)


def test_a_flood_is_shown_bounded_and_fast() -> None:
    assert len(shown("x" * 100_000_000)) < TEXT_LIMIT
    assert len(shown([["x" * 5000] * 5000] * 5000)) < 2 * TEXT_LIMIT
    assert len(shown({str(each): each for each in range(100_000)})) < TEXT_LIMIT


def test_an_ordinary_value_is_shown_whole() -> None:
    value = {"metadata": {"name": "a"}, "spec": {"devices": [{"name": "gpu-0"}]}}
    assert shown(value) == repr(value)


def test_a_value_whose_repr_fails_is_shown_all_the_same() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise ValueError("no")

    assert "Hostile" in shown(Hostile())


def test_runs_of_ids_are_shortened() -> None:
    ids = ["PREP-003", "PREP-001", "PREP-002", "UNP-002", "UNP-003", "REG-010", "PREP-002"]
    assert spelled_ids(ids) == "PREP-001..003, REG-010, UNP-002, UNP-003"
    assert spelled_ids([]) == ""
