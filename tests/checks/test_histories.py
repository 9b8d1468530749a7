"""The model of two claims, its histories, and what is told of a state that differs."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

import pytest

from pytest_dra.checks import histories
from pytest_dra.checks.histories import Model
from pytest_dra.spec import Violation
from tests.checks.raising import Said
from tests.checks.raising import said

NOTHING: Mapping[str, Collection[str]] = {}


def after(history: str, *, refused: str = "") -> Model:
    """The state after a history; ``refused`` are the failing steps that failed."""
    model = Model()
    for step in history:
        model = model.after(step, refused=step in refused)
    return model


@pytest.mark.parametrize(
    ("history", "refused", "prepared", "open_"),
    [
        ("", "", "", ""),
        ("AB", "", "AB", ""),
        ("ABAb", "", "A", ""),
        ("aARb", "", "A", ""),
        ("X", "X", "", "A"),
        ("X", "", "A", ""),
        ("AX", "X", "A", ""),
        ("XA", "X", "A", ""),
        ("XaY", "XY", "", "B"),
        ("ABO", "", "", "AB"),
        ("ABOAb", "", "A", ""),
        ("AKB", "", "AB", ""),
        ("EF", "E", "B", "A"),
        ("ABx", "x", "B", "A"),
        ("ABx", "", "B", ""),
        ("xABxA", "x", "AB", ""),
        ("x", "x", "", ""),
    ],
)
def test_the_model_knows_what_is_prepared(
    history: str, refused: str, prepared: str, open_: str
) -> None:
    model = after(history, refused=refused)
    assert (model.prepared, model.open) == (frozenset(prepared), frozenset(open_))
    assert model.released == set("AB") - set(prepared) - set(open_)


def test_the_histories_are_24_and_15_of_known_steps_and_never_change() -> None:
    further = list(histories.further())
    assert (len(histories.FIXED), len(set(histories.FIXED)), len(further)) == (24, 24, 15)
    assert further[0] == next(iter(histories.further()))
    assert {step for each in (*histories.FIXED, *further) for step in each} <= set(histories.STEPS)
    assert all(len(each) <= histories.LONGEST for each in further)
    assert all(each.count(histories.RESTART) <= 1 for each in (*histories.FIXED, *further))


def test_a_history_is_told_in_letters_and_words() -> None:
    assert histories.in_words("AbR") == "AbR: Prepare A, Unprepare B, restart"


def _state(
    history: str,
    *,
    unresolved: Mapping[str, Collection[str]] = NOTHING,
    left: Mapping[str, Collection[str]] = NOTHING,
) -> Said | None:
    return said(
        lambda: histories.state_must_be(
            after(history, refused="XY"),
            unresolved=unresolved,
            left=left,
            expected={"usual"},
            what="then",
        )
    )


def test_what_the_model_predicts_is_let_pass() -> None:
    assert _state("AB", left={"A": ["p/{uid}"]}) is None
    assert _state("Aa", unresolved={"A": ["v/c=a"]}, left={"A": ["usual"]}) is None
    assert _state("X", unresolved={"A": ["v/c=a"]}, left={"A": ["p/{uid}"]}) is None


def test_an_id_of_a_prepared_claim_that_does_not_resolve_is_told() -> None:
    assert _state("AB", unresolved={"B": ["v/c=b"]}) == Said(
        "then",
        "CDI ids of B that do not resolve: v/c=b",
        "B is prepared: its ids resolve",
    )


def test_what_is_left_of_a_released_claim_is_told() -> None:
    assert _state("ABa", left={"A": ["p/{uid}", "usual"], "B": ["q"]}) == Said(
        "then", "left of A: p/{uid}", "A is not prepared: nothing of it is left"
    )


def _failing(*, needs: str, played: list[str]) -> histories.Play:
    def play(history: str) -> Violation | None:
        played.append(history)
        letters = iter(history)
        if all(letter in letters for letter in needs):
            return Violation(history, got="bad", want="good")
        return None

    return play


def test_a_failing_history_is_shrunk_to_the_steps_that_matter() -> None:
    played: list[str] = []
    play = _failing(needs="ABAb", played=played)
    first = play("BbABXAab")
    assert first is not None
    shorter, violation = histories.shrunk("BbABXAab", first, play)
    assert (shorter, violation.where) == ("ABAb", "ABAb")


def test_shrinking_ends_after_some_replays() -> None:
    played: list[str] = []
    first = Violation("first", got="bad", want="good")
    long = "AaBbXYRO" * 5
    found = histories.shrunk(long, first, _failing(needs=long, played=played))
    assert found == (long, first)
    assert len(played) == len(set(played)) == histories.SHRINKINGS


def test_the_claim_that_comes_first_is_called_a() -> None:
    assert [histories.renamed(each) for each in ("RBab", "ABa", "FXy", "RK")] == [
        "RAba", "ABa", "EYx", "RK",
    ]  # fmt: skip
    play = _failing(needs="bb", played=[])
    both = Violation("first", got="bad", want="good")
    assert histories.shrunk("bb", both, play)[0] == "bb"
    assert histories.shrunk("bb", both, lambda _: both)[0] == "a"


@pytest.mark.parametrize("history", ["BbABXAab", "XYABAbRRaa", "ABAb", "OABKAEb"])
def test_no_step_of_a_shrunk_history_can_be_left_out(history: str) -> None:
    play = _failing(needs="ABAb", played=[])
    first = play(history)
    assert first is not None
    shorter, _ = histories.shrunk(history, first, play)
    assert shorter == "ABAb"


def test_the_histories_of_a_soak_follow_from_its_seed() -> None:
    soaking = list(histories.soaking(7))
    assert soaking == list(histories.soaking(7))
    assert soaking != list(histories.soaking(8))
    assert len(soaking) == histories.SOAK
    assert set(soaking[:15]) != set(histories.further())


def test_a_history_is_written_and_read_again() -> None:
    text = histories.as_file("ABOa")
    assert text.splitlines()[1:3] == ["# A: Prepare A", "# B: Prepare B"]
    assert histories.from_file(text) == ("ABOa",)
    assert histories.from_file("Aa  # first\n\nAB") == ("Aa", "AB")


@pytest.mark.parametrize(
    ("text", "problem"), [("# none", "there is no history in it"), ("AQ", "'Q' is no step")]
)
def test_what_is_no_history_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        histories.from_file(text)
