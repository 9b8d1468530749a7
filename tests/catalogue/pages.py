"""CASES.md, the list of the cases: ``python -m tests.catalogue.pages`` writes it anew.

It is made from the catalogue and ``conformance/CASES.lock`` and committed, so that a reader of the
repository finds the cases without running anything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.cases import locked
from pytest_dra.catalogue import Area
from pytest_dra.catalogue import Catalogue
from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Case
from pytest_dra.spec import Level

PAGE = Path(__file__).parents[2] / "CASES.md"
COMMAND = "python -m tests.catalogue.pages"

LEGEND = """\
The suite has {have} of the {all} cases of the catalogue. Ids never change: a case is added or
retired, never renumbered. To run some of them, name ids, areas or patterns:
`--dra-case=PREP-006,IDEM-*,REG`.

- **Level**: MUST, SHOULD or MAY, as the source words the rule. MUST cases make the verdict.
- **What breaks**: what a user or Kubernetes sees where a driver does otherwise.
- **Sources**: api and proto (the API and its messages), kep (an enhancement proposal), kubelet and
  scheduler (what those do), cdi-spec, practice (what working drivers do; no MUST rests on it
  alone).
- **Needs**: cases without which this one is pointless; where one of them failed, it is not run.
- **Since**: the first Kubernetes version that it is judged for.
- **Features**: what the driver's profile must declare for it; empty where the case is for every
  driver.
"""

COLUMNS = ("Case", "Level", "Title", "What breaks", "Sources", "Needs", "Since", "Features")


def render(data: Catalogue, have: frozenset[str]) -> str:
    """The whole page.

    Args:
        data: the catalogue.
        have: ids of the cases that the suite has.
    """
    return "\n".join(_lines(data, have)) + "\n"


def _lines(data: Catalogue, have: frozenset[str]) -> Iterator[str]:
    yield "# Cases"
    yield ""
    yield f"<!-- Generated: {COMMAND} -->"
    yield ""
    yield LEGEND.format(have=len(have), all=len(data.cases))
    yield from _overview(data, have)
    for area in data.areas.values():
        yield from _area(data, area, have)
    yield from _retired(data)


def _overview(data: Catalogue, have: frozenset[str]) -> Iterator[str]:
    rows = []
    for area in data.areas.values():
        cases = _cases_of(data, area)
        here = [case for case in cases if case.id in have]
        levels = [str(sum(case.level is level for case in here)) for level in Level]
        rows.append([f"{area.name}: {area.title}", *levels, str(len(cases) - len(here))])
    yield from table(("Area", *(level.value for level in Level), "Planned"), rows)


def _area(data: Catalogue, area: Area, have: frozenset[str]) -> Iterator[str]:
    cases = _cases_of(data, area)
    here = [case for case in cases if case.id in have]
    planned = [case for case in cases if case.id not in have]
    yield f"## {area.name}: {area.title}"
    yield ""
    if here:
        yield from table(COLUMNS, [_row(case) for case in here])
    if planned:
        yield f"Planned ({len(planned)}):"
        yield ""
        yield from (f"- {case.id} {case.level.value}: {_cell(case.title)}" for case in planned)
        yield ""


def _retired(data: Catalogue) -> Iterator[str]:
    if data.retired:
        yield "## Retired"
        yield ""
        yield from (
            f"- {case.id} (was {case.level_before.value}): {_cell(case.title)}. {case.reason}"
            for case in data.retired.values()
        )
        yield ""


def _cases_of(data: Catalogue, area: Area) -> list[Case]:
    return [case for case in data.cases.values() if case.area == area.name]


def _row(case: Case) -> list[str]:
    since = f"{case.since} to {case.until}" if case.until else case.since
    features = [*case.features, *(f"not {feature}" for feature in case.unless)]
    return [
        case.id,
        case.level.value,
        case.title,
        case.breaks,
        "; ".join(str(source) for source in case.sources),
        ", ".join(case.needs),
        since,
        ", ".join(features),
    ]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, with an empty line behind it."""
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)
    yield ""


def _cell(text: str) -> str:
    """Text that cannot end a cell, begin a tag or break the line."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    """Write the page."""
    PAGE.write_text(render(catalogue(), locked()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
