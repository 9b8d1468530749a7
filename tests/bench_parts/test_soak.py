"""What a soak chooses."""

from __future__ import annotations

from pytest_dra.bench.soak import Soak


def test_without_soak_all_is_as_usual() -> None:
    soak = Soak()
    assert soak.either("usual", "more") == "usual"
    assert soak.replayed("RST-005") == ""


def test_a_soak_does_more_and_says_how_to_do_it_again() -> None:
    soak = Soak(on=True, seed=7)
    assert soak.either("usual", "more") == "more"
    assert soak.replayed("RST-005") == " (--dra-soak --dra-soak-seed=7 --dra-case=RST-005)"


def test_a_choice_depends_on_seed_and_text_alone() -> None:
    chosen = [Soak(on=True, seed=7).fraction(str(number)) for number in range(200)]
    assert chosen == [Soak(on=True, seed=7).fraction(str(number)) for number in range(200)]
    assert chosen != [Soak(on=True, seed=8).fraction(str(number)) for number in range(200)]
    assert all(0 <= each < 1 for each in chosen)
    assert 0.4 < sum(chosen) / len(chosen) < 0.6
