"""The cases of the suite: what the catalogue says, joined to the function that judges it.

A case module declares::

    @case("REG-002", Level.MUST)
    def test_reg_002_type(dra_bench: Bench) -> None:
        \"\"\"GetInfo answers with the DRA plugin type.\"\"\"

Id, level and title stand in the code where a reader wants them; everything else (sources, what
breaks, needs, features ...) comes from the catalogue, and a difference between the two is an error
at import.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.resources
import pkgutil
from collections.abc import Callable
from typing import Any

from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Case
from pytest_dra.spec import Depth
from pytest_dra.spec import Level

CASE_PACKAGE = "pytest_dra.conformance"
"""Where the case modules are; named, not imported, since it lies above this module."""

LOCK_FILE = "CASES.lock"
"""One line per case that the suite has: id, level, version of the suite that brought it."""

Body = Callable[..., None]
Begin = Callable[[Any], None]

TAKING_DOWN = frozenset({"restart", "reboot"})
"""Observations of the catalogue that take the driver down."""


class CaseError(Exception):
    """Code and catalogue disagree about a case, or a case has no body."""


@dataclasses.dataclass(frozen=True, slots=True)
class Declared:
    """A case with its body; ``settles`` runs it late, when waiting for quiet costs nothing.

    ``apart_s``: a case that looks at nothing that another one has done may be judged on a bench of
    its own while the others go on; it is how long that takes with a quick driver, so that the long
    ones begin first. 0 for a case that is judged in its turn.

    ``begin`` starts what takes its time; it is called with the bench once the first case of the
    run has been judged, and must return at once. ``ahead`` disturbs the driver under test, and is
    called before the first case that does so, too: what settles then settles in their time.

    ``live``: the body acts on a driver on a whole cluster. ``disruptive``: it does there what the
    cluster's other users notice, though the case as the catalogue has it does not.
    """

    case: Case
    body: Body
    settles: bool
    apart_s: float = 0.0
    begin: Begin | None = None
    ahead: Begin | None = None
    live: bool = False
    disruptive: bool = False

    @property
    def disturbs(self) -> bool:
        """True if the case takes the driver under test down, or more."""
        return self.disruptive or self.case.disruptive or self.takes_down

    @property
    def takes_down(self) -> bool:
        """True if the case ends the driver under test."""
        return self.case.observation in TAKING_DOWN


_declared: dict[str, Declared] = {}
_live: dict[str, Declared] = {}


def case(
    id: str,
    level: Level,
    *,
    settles: bool = False,
    apart_s: float = 0.0,
    begin: Begin | None = None,
    ahead: Begin | None = None,
    live: bool = False,
    disruptive: bool = False,
) -> Callable[[Body], Body]:
    """Declare the decorated function as the body of a case of the catalogue.

    Args:
        id: the case's id.
        level: its level, which must be the catalogue's.
        settles: the body waits until publishing has settled.
        apart_s: see :class:`Declared`.
        begin: see :class:`Declared`.
        ahead: see :class:`Declared`.
        live: see :class:`Declared`; a case can have a body of either kind.
        disruptive: see :class:`Declared`.

    Raises:
        CaseError: unknown id, another level, or a docstring that is not the title.
    """

    def declare(body: Body) -> Body:
        try:
            found = catalogue().case(id)
        except KeyError as error:
            raise CaseError(f"{id}: {error.args[0]}") from error
        if found.level is not level:
            raise CaseError(f"{id}: level {level.value} in code, {found.level.value} in catalogue")
        title = (body.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        if title.casefold() != found.title.casefold():
            raise CaseError(f"{id}: docstring {title!r}, title in the catalogue {found.title!r}")
        known = _live if live else _declared
        known[id] = Declared(found, body, settles, apart_s, begin, ahead, live, disruptive)
        setattr(body, ATTRIBUTE, id)
        setattr(body, LIVE_ATTRIBUTE, live)
        return body

    return declare


ATTRIBUTE = "dra_case_id"
LIVE_ATTRIBUTE = "dra_case_live"
"""Names of the function attributes that carry the id to pytest's item, and whether it is live."""


def case_id_of(function: Any) -> str | None:
    """The id that a function was declared with, None for any other function."""
    found = getattr(function, ATTRIBUTE, None)
    return found if isinstance(found, str) else None


def is_live(function: Any) -> bool:
    """True for the body of a case that acts on a whole cluster."""
    return bool(getattr(function, LIVE_ATTRIBUTE, False))


def declared(id: str, *, live: bool = False) -> Declared:
    """The declared case; imports the case modules if it has not been seen yet.

    Raises:
        CaseError: the suite has no such case.
    """
    known = _live if live else _declared
    if id not in known:
        _import_all()
    if id not in known:
        raise CaseError(f"{id}: the suite has no body for this case")
    return known[id]


def live_cases() -> frozenset[str]:
    """Ids of the cases that can be judged on a whole cluster."""
    _import_all()
    return frozenset(_live)


def _import_all() -> None:
    package = importlib.import_module(CASE_PACKAGE)
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("test_"):
            importlib.import_module(f"{CASE_PACKAGE}.{module.name}")


def locked() -> frozenset[str]:
    """Ids of all cases that the suite has, from its lock file (nothing is imported)."""
    text = importlib.resources.files(CASE_PACKAGE).joinpath(LOCK_FILE).read_text("utf-8")
    return frozenset(line.split()[0] for line in text.splitlines() if line and line[0] != "#")


def implemented() -> frozenset[str]:
    """Those of them that can be judged without a whole cluster."""
    return frozenset(id for id in locked() if catalogue().case(id).depth is not Depth.CLUSTER)
