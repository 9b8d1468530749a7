"""Histories of two claims, and the state that a simple model says they end in.

A history is a text with a letter for each step (:data:`STEPS`): ``ABAb`` is Prepare A, Prepare B,
Prepare A again, Unprepare B.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping

from pytest_dra.spec import Violation

STEPS = {
    "A": "Prepare A",
    "a": "Unprepare A",
    "B": "Prepare B",
    "b": "Unprepare B",
    "X": "Prepare A without CDI directory",
    "Y": "Prepare B without CDI directory",
    "E": "Prepare A while its claim cannot be read",
    "F": "Prepare B while its claim cannot be read",
    "x": "Unprepare A without CDI directory",
    "y": "Unprepare B without CDI directory",
    "R": "restart",
    "K": "SIGKILL and start",
    "O": "reboot",
}

NAMES = ("A", "B")
"""The two claims, each with a device of its own."""

RESTART, CRASH, REBOOT = "R", "K", "O"

UNWRITABLE = {"X": "A", "Y": "B"}
UNREADABLE = {"E": "A", "F": "B"}
FAILING = {**UNWRITABLE, **UNREADABLE}
"""Steps whose Prepare is made to fail, and their claim."""

SWAPPED = str.maketrans("AaXxEBbYyF", "BbYyFAaXxE")
"""Each step with the other claim."""

STUCK = {"x": "A", "y": "B"}
"""Steps whose Unprepare is made to fail, and their claim."""

FIXED = (
    "ABAb",
    "Aa",
    "AAa",
    "AaAa",
    "aA",
    "Aaa",
    "ABab",
    "ABba",
    "BAab",
    "ABAa",
    "ABBa",
    "ABBb",
    "AaBA",
    "ABaA",
    "ABaAb",
    "AbBaA",
    "XAa",
    "XaAa",
    "AXBa",
    "XBAb",
    "AYBa",
    "ARAa",
    "ABRaBb",
    "AaRAB",
)
"""Short histories that have found faults in drivers, or look as if they could."""

WITH_FAULTS = ("EAa", "AEBa", "FABb")
"""Played beside these: the API server fails for a moment."""

WITH_REBOOT = ("ABOAab",)
"""Played where the bench can reboot a node without the driver finding out that it was none."""

RANDOM = 15
"""Further histories, always the same ones: reports of two runs are to be compared."""

SOAK = 100
"""Histories of a soak beside these."""

LONGEST = 10
SHORTEST = 4
"""Steps of a further history."""

CHOICE = "AAABBBaaabbbXYRA"
"""What a step is chosen from: failures and restarts are rarer than calls."""

SOAK_CHOICE = "AAABBBaaabbbXYRAEFxyK"
"""The same for a soak."""

SHRINKINGS = 24
"""Most replays that look for a shorter history: each needs a new driver process."""


def soaking(seed: int) -> Iterator[str]:
    """The histories of a soak with this seed."""
    return _made(f"IDEM-009 {seed}", SOAK, SOAK_CHOICE)


def further() -> Iterator[str]:
    """The histories that chance has made for every run."""
    return _made("IDEM-009", RANDOM, CHOICE)


def _made(seed: str, count: int, choice: str) -> Iterator[str]:
    """Histories with one restart each at most."""
    for number in range(count):
        digest = hashlib.sha256(f"{seed} {number}".encode()).digest()
        length = SHORTEST + digest[-1] % (LONGEST - SHORTEST + 1)
        chosen = [choice[byte % len(choice)] for byte in digest[:length]]
        first = chosen.index(RESTART) if RESTART in chosen else length
        yield "".join(s for n, s in enumerate(chosen) if s != RESTART or n == first)


def in_words(history: str) -> str:
    """A history as a person reads it, its letters first."""
    return f"{history}: {', '.join(STEPS[step] for step in history)}"


@dataclasses.dataclass(frozen=True, slots=True)
class Model:
    """The claims that are prepared, and those of which it is open: a Prepare has failed, or
    the node was rebooted, after which a kubelet prepares again what it still needs."""

    prepared: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()

    def after(self, step: str, *, refused: bool) -> Model:
        """The state after a step; ``refused`` counts only where failing is allowed."""
        if step in (RESTART, CRASH):
            return self
        if step == REBOOT:
            return Model(frozenset(), self.open | self.prepared)
        name = STUCK.get(step) or FAILING.get(step, step.upper())
        if step in STUCK and refused:
            # Perhaps half of it is gone; what was not prepared is not prepared by that.
            known = self.open | (self.prepared & {name})
            return Model(self.prepared - {name}, known)
        if step.islower():
            return Model(self.prepared - {name}, self.open - {name})
        if refused:
            return self if name in self.prepared else Model(self.prepared, self.open | {name})
        return Model(self.prepared | {name}, self.open - {name})

    @property
    def released(self) -> frozenset[str]:
        """The claims of which nothing may be left."""
        return frozenset(NAMES) - self.prepared - self.open


def state_must_be(
    model: Model,
    *,
    unresolved: Mapping[str, Collection[str]],
    left: Mapping[str, Collection[str]],
    expected: Collection[str],
    what: str,
) -> None:
    """What is on disk is what the model predicts.

    Args:
        model: the state that is to be.
        unresolved: CDI ids that do not resolve, by the claim that they were returned for.
        left: paths that name a claim, by claim, its uid and name replaced.
        expected: paths that a plain cycle leaves, in the same form.
        what: how a message calls the moment.
    """
    for name in sorted(model.prepared):
        if unresolved.get(name):
            raise Violation(
                what,
                got=f"CDI ids of {name} that do not resolve: {', '.join(unresolved[name])}",
                want=f"{name} is prepared: its ids resolve",
            )
    for name in sorted(model.released):
        more = sorted(set(left.get(name, ())) - set(expected))
        if more:
            raise Violation(
                what,
                got=f"left of {name}: {', '.join(more[:5])}",
                want=f"{name} is not prepared: nothing of it is left",
            )


class HistoryViolation(Violation):
    """How a history fails; ``history`` is its letters."""

    def __init__(self, violation: Violation, history: str) -> None:
        super().__init__(
            violation.where, got=violation.got, want=violation.want, proof=violation.proof
        )
        self.history = history


def as_file(history: str) -> str:
    """A history as a file that :func:`from_file` reads, with each step in words."""
    words = "".join(f"# {step}: {STEPS[step]}\n" for step in history)
    return f"# a history of IDEM-009; played again by --dra-replay=FILE\n{words}{history}\n"


def from_file(text: str) -> tuple[str, ...]:
    """The histories of a text, one per line; what follows a ``#`` is a remark.

    Raises:
        ValueError: there is none, or a letter is no step.
    """
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    found = tuple(line for line in lines if line)
    for step in "".join(found):
        if step not in STEPS:
            known = ", ".join(f"{letter} ({words})" for letter, words in STEPS.items())
            raise ValueError(f"{step!r} is no step of a history; steps are {known}")
    if not found:
        raise ValueError("there is no history in it")
    return found


Play = Callable[[str], Violation | None]
"""Plays a history: how it fails, or None."""


def shrunk(history: str, violation: Violation, play: Play) -> tuple[str, Violation]:
    """A short history that fails as well, and how: mostly no step of it can be left out.

    Args:
        history: one that fails.
        violation: how it fails.
        play: plays a history from a clean state.
    """
    left, size = SHRINKINGS, max(1, len(history) // 2)
    known: set[str] = set()
    while left > 0:
        for shorter in _without(history, size):
            if not shorter or shorter in known:
                continue
            known.add(shorter)
            found = play(shorter)
            left -= 1
            if found is not None:
                history, violation = shorter, found
                break
            if left <= 0:
                break
        else:
            if size == 1:
                break
            size //= 2
    other = renamed(history)
    found = play(other) if other != history else None
    return (history, violation) if found is None else (other, found)


def renamed(history: str) -> str:
    """The history with A as the claim that comes first."""
    first = next((step for step in history if step not in (RESTART, CRASH, REBOOT)), "A")
    return history if first in "AaXxE" else history.translate(SWAPPED)


def _without(history: str, size: int) -> Iterator[str]:
    """A history without so many steps that follow each other; the last ones are left out first."""
    for end in range(len(history), size - 1, -1):
        yield history[: end - size] + history[end:]
