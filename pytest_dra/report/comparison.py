"""Two reports of one driver: what has become worse, better, or is no longer judged."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from collections.abc import Mapping

from pytest_dra.report.results import State
from pytest_dra.report.verdict import LACKING
from pytest_dra.report.verdict import worst
from pytest_dra.spec import Json
from pytest_dra.spec import Level

BAD = frozenset({State.FAILED, State.ERRORED})
VERDICTS = ("conformant", "partial", "inconclusive", "non-conformant")
"""Best first."""


class Change(str, enum.Enum):
    """What has become of a case, worst first."""

    REGRESSED = "regressed"
    """It fails or errors now, and passed before."""
    LOST = "no longer judged"
    """It passed, and nobody judges it now."""
    NEW_FAILURE = "fails, and was not judged before"
    WITHDRAWN = "no longer applies"
    MENDED = "mended"
    """It passes now, and failed or errored before."""
    GAINED = "judged now"
    """It passes now, and was not judged or there before."""
    OTHER = "changed"


REGRESSIONS = frozenset({Change.REGRESSED, Change.LOST, Change.NEW_FAILURE})
"""What lets a comparison fail, of a MUST or a SHOULD. A failure where nothing was known may be an
old one, but whoever merges it wants to know."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One case in both reports; ``old`` and ``new`` are states, or ``absent``."""

    id: str
    level: str
    title: str
    old: str
    new: str
    change: Change
    detail: str

    @property
    def is_regression(self) -> bool:
        """True if it lets the comparison fail: a MAY never does."""
        return self.change in REGRESSIONS and self.level != Level.MAY.value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What differs between two reports.

    Attributes:
        verdicts: the old and the new one.
        differences: regressions first, MUST before SHOULD before MAY.
        still: ids of cases that fail or error in both.
        remarks: what makes the two hard to compare, such as another Kubernetes version.
    """

    verdicts: tuple[str, str]
    differences: tuple[Difference, ...]
    still: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def has_regressed(self) -> bool:
        """True if a case or the verdict has become worse."""
        return self.worse_verdict or any(each.is_regression for each in self.differences)

    @property
    def worse_verdict(self) -> bool:
        """True if the verdict has become worse."""
        old, new = self.verdicts
        return VERDICTS.index(new) > VERDICTS.index(old)


ABSENT = "absent"


def compare(old: Json, new: Json) -> Comparison:
    """Compare two reports that have the form of the schema; provisional cases do not count."""
    before, after = _cases(old), _cases(new)
    found = []
    for id_ in sorted(before.keys() | after.keys()):
        difference = _difference(id_, before.get(id_), after.get(id_))
        if difference is not None:
            found.append(difference)
    changes, levels = list(Change), [level.value for level in Level]
    found.sort(
        key=lambda each: (
            not each.is_regression,
            changes.index(each.change),
            levels.index(each.level),
        )
    )
    still = [
        id_
        for id_ in sorted(before.keys() & after.keys())
        if _state(before[id_]) in BAD and _state(after[id_]) in BAD
    ]
    return Comparison(
        verdicts=(old["verdict"], new["verdict"]),
        differences=tuple(found),
        still=tuple(still),
        remarks=tuple(_remarks(old, new)),
    )


def _cases(data: Json) -> Mapping[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for each in data["cases"]:
        if not each["provisional"]:
            found.setdefault(each["id"], []).append(each)
    return found


def _state(cases: list[Json]) -> State:
    return worst(State(each["state"]) for each in cases)


def _difference(id_: str, old: list[Json] | None, new: list[Json] | None) -> Difference | None:
    was, is_ = (_state(each) if each else None for each in (old, new))
    if was is is_:
        return None
    cases = new or old or []
    decisive = next((each for each in cases if each["state"] == is_), cases[0])
    return Difference(
        id=id_,
        level=decisive["level"],
        title=decisive["title"],
        old=was.value if was else ABSENT,
        new=is_.value if is_ else ABSENT,
        change=_change(was, is_),
        detail=(decisive.get("where") or decisive.get("reason") or "") if new else "",
    )


def _change(was: State | None, is_: State | None) -> Change:
    if is_ in BAD and was not in BAD:
        return Change.REGRESSED if was is State.PASSED else Change.NEW_FAILURE
    if was is State.PASSED:
        return Change.LOST if is_ is None or is_ in LACKING else Change.WITHDRAWN
    if is_ is State.PASSED:
        return Change.MENDED if was in BAD else Change.GAINED
    return Change.OTHER


def _remarks(old: Json, new: Json) -> Iterator[str]:
    pairs = {
        "driver": [each["driver"]["name"] for each in (old, new)],
        "Kubernetes version": [each["environment"]["kubernetes"] for each in (old, new)],
        "cluster": [each["environment"]["cluster"] for each in (old, new)],
        "depth": [each["environment"]["depth"] for each in (old, new)],
        "catalogue": [each["catalogue"]["hash"] for each in (old, new)],
    }
    for name, (before, after) in pairs.items():
        if before != after:
            yield f"another {name}: {before or 'unnamed'} before, {after or 'unnamed'} now"
