"""A state machine of Hypothesis over histories of two claims: calls, restarts, reboots, faults.

It plays on the bench what IDEM-009 plays, and shrinks what fails as Hypothesis does. What is left
is a history in the letters of ``checks.histories``, for ``--dra-replay``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hypothesis import HealthCheck
from hypothesis import Phase
from hypothesis import seed as seeded
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine
from hypothesis.stateful import rule
from hypothesis.stateful import run_state_machine_as_test

from pytest_dra.bench import Bench
from pytest_dra.bench.player import Player
from pytest_dra.checks import histories
from pytest_dra.checks.histories import HistoryViolation
from pytest_dra.spec import Violation

STEPS: Final = 8
"""Longest history: what needs more has not been seen yet."""

LETTERS: Final = {words: letter for letter, words in histories.STEPS.items()}

CHOICE: Final = [histories.STEPS[letter] for letter in f"{histories.SOAK_CHOICE}{histories.REBOOT}"]
"""What a step is chosen from, in words; what stands first is what Hypothesis shrinks to."""


class Histories(RuleBasedStateMachine):
    """One history: each rule is a step, after which the state is looked at."""

    player: Player
    spoiled = False

    def __init__(self) -> None:
        super().__init__()
        if type(self).spoiled:
            self.player.renew()
            type(self).spoiled = False
        self._played = self.player.begin()

    def _do(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Violation as violation:
            type(self).spoiled = True
            raise HistoryViolation(violation, self._played.history) from violation

    @rule(what=st.sampled_from(CHOICE))
    def step(self, what: str) -> None:
        """Call, restart, kill or reboot, or call while something is in the way."""
        self._do(lambda: self._played.step(LETTERS[what]))

    def teardown(self) -> None:
        """Release both claims, unless the history has failed."""
        if not type(self).spoiled:
            self._do(self._played.end)


def search(
    bench: Bench, *, examples: int, seed: int, steps: int = STEPS
) -> HistoryViolation | None:
    """The smallest history that fails, of so many; None if none does.

    A node must be rebootable on the bench. ``seed`` decides what is tried.
    """
    first, second = bench.devices(2)

    class Machine(Histories):
        player = Player(bench, (first, second))

    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(seeded(seed)(Machine), settings=chosen)
    except HistoryViolation as violation:
        other = histories.renamed(violation.history)
        found = Machine.player.play_anew(other) if other != violation.history else None
        return violation if found is None else HistoryViolation(found, other)
    return None
