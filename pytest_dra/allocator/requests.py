"""Claims read for allocation: their requests, the alternatives of these, and what cannot work."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator.constraints import Constraint
from pytest_dra.allocator.forgetful import Forgetful
from pytest_dra.allocator.index import Index
from pytest_dra.allocator.rules import Rules
from pytest_dra.allocator.selectors import Chain

RESULTS_MAX: Final = 32
"""Devices that one claim can have."""

EXACT: Final = "ExactCount"
ALL: Final = "All"


class PlanError(ValueError):
    """The claims cannot be tried on any node: the scheduler gives up on the pod for now."""


class Option:
    """A request, or one alternative of a request with alternatives (then with a ``parent``).

    ``requests`` are amounts of capacity by name, None if nothing is asked for. ``borrowed`` is an
    option whose devices are taken for those of this one, which happened up to 1.35.
    """

    __slots__ = (
        "admin", "borrowed", "chain", "class_", "constraints", "count", "derived", "every",
        "matches", "name", "number", "parent", "requests", "tolerations",
    )  # fmt: skip

    def __init__(
        self, source: Mapping[str, Any], *, name: str, parent: str | None,
        class_: Mapping[str, Any], chain: Chain,
    ) -> None:  # fmt: skip
        self.name = name
        self.parent = parent
        self.class_ = class_
        self.chain = chain
        self.every = source.get("allocationMode") == ALL
        self.count: int = source.get("count") or 0
        self.admin = parent is None and bool(source.get("adminAccess"))
        self.tolerations: Sequence[Mapping[str, Any]] = source.get("tolerations") or ()
        self.requests: Mapping[str, Any] | None = (source.get("capacity") or {}).get("requests")
        self.derived: dict[str, str] = {
            one.get("name") or "": one.get("expression") or ""
            for one in source.get("derivedAttributes") or ()
        }
        self.constraints: list[Constraint] = []
        self.matches: dict[tuple[int, ...], Any] = {}
        self.number = 0
        self.borrowed: Option | None = None

    @property
    def full_name(self) -> str:
        """The name in results."""
        return self.name if self.parent is None else f"{self.parent}/{self.name}"

    @property
    def class_selectors(self) -> int:
        """How many of the chain's selectors are those of the class; they come first."""
        return len((self.class_.get("spec") or {}).get("selectors") or ())


class Unit:
    """A request of a claim: ``options`` has one entry, or all of its alternatives."""

    __slots__ = ("claim", "name", "options")

    def __init__(self, claim: int, name: str, options: list[Option]) -> None:
        self.claim = claim
        self.name = name
        self.options = options

    @property
    def chooses(self) -> bool:
        """True for a request with alternatives."""
        return self.options[0].parent is not None


def _claim_of(unit: Unit) -> int:
    return unit.claim


class Plan:
    """Claims that are to be allocated together, checked as far as that needs no node.

    ``fault`` is not "" if the scheduler aborts whatever the node is. ``units`` are the requests
    of all claims in order, ``by_claim`` their numbers, ``constraints`` one list per claim;
    ``configured`` says which claims have configurations. In a ``simple`` plan every request
    wants a number of devices and has no alternatives; in a ``plain`` one they are independent.
    """

    def __init__(
        self, claims: Sequence[Mapping[str, Any]], classes: Mapping[str, Mapping[str, Any]],
        index: Index,
    ) -> None:  # fmt: skip
        self.claims = claims
        self.units: list[Unit] = []
        self.constraints: list[list[Constraint]] = []
        self.options: list[Option] = []
        self.fault = ""
        self._index = index
        self._rules = index.rules
        self._classes = classes
        try:
            for number, claim in enumerate(claims):
                self._read(number, claim)
        except PlanError as error:
            self.fault = str(error)
        self.by_claim = [
            range(
                bisect.bisect_left(self.units, claim, key=_claim_of),
                bisect.bisect_right(self.units, claim, key=_claim_of),
            )
            for claim in range(len(claims))
        ]
        self.configured = [
            self._is_configured(claim, numbers)
            for claim, numbers in zip(claims, self.by_claim, strict=True)
        ]
        self.simple = self._is_simple()
        self.plain = self.simple and not any(
            option.admin or option.constraints for option in self.options
        )

    def _is_configured(self, claim: Mapping[str, Any], numbers: range) -> bool:
        """True if the claim or the class of a request has a configuration."""
        sources = [option.class_ for one in numbers for option in self.units[one].options]
        devices = (claim.get("spec") or {}).get("devices") or {}
        return bool(devices.get("config")) or any(
            (one.get("spec") or {}).get("config") for one in sources
        )

    def _is_simple(self) -> bool:
        return not self.fault and not any(
            unit.chooses or unit.options[0].every or unit.options[0].derived for unit in self.units
        )

    def _read(self, number: int, claim: Mapping[str, Any]) -> None:
        devices = (claim.get("spec") or {}).get("devices") or {}
        name = (claim.get("metadata") or {}).get("name")
        least = 0
        made: list[Option] = []
        for request in devices.get("requests") or ():
            where = f"claim {name}, request {request.get('name')}"
            unit = Unit(number, request.get("name") or "", self._options(request, where))
            self.units.append(unit)
            made += unit.options
            if not any(option.every for option in unit.options):
                wanted = min(option.count for option in unit.options)
                if wanted > RESULTS_MAX - least:
                    raise PlanError(f"{where}: {wanted} devices on top of {least} are too many")
                least += wanted
        self._constrain(devices.get("constraints") or (), made, f"claim {name}")

    def _constrain(
        self, specs: Sequence[Mapping[str, Any]], options: list[Option], where: str
    ) -> None:
        constraints = []
        for number, spec in enumerate(specs):
            distinct = spec.get("distinctAttribute") is not None and not self._rules.basic
            if spec.get("matchAttribute") is None and not distinct:
                raise PlanError(f"{where}, constraint #{number}: of no kind that is known")
            constraints.append(_constraint(number, spec, self._rules))
        self.constraints.append(constraints)
        for option in options:
            option.number = len(self.options)
            self.options.append(option)
            option.constraints = [
                one for one in constraints if one.applies(option.name, option.parent)
            ]

    def _options(self, request: Mapping[str, Any], where: str) -> list[Option]:
        alternatives = request.get("firstAvailable") or ()
        if alternatives and not self._rules.prioritized_list:
            raise PlanError(f"{where}: has alternatives, DRAPrioritizedList is off")
        exactly = request.get("exactly")
        sources = [one for one in (exactly, *alternatives) if one is not None]
        priced = self._rules.consumable or self._rules.basic
        if not priced and any(source.get("capacity") is not None for source in sources):
            raise PlanError(f"{where}: asks for capacity, DRAConsumableCapacity is off")
        name = request.get("name") or ""
        if alternatives:
            made = [
                self._option(one, f"{where}/{one.get('name')}", one.get("name") or "", name)
                for one in alternatives
            ]
            if self._rules.loses_alternative and len(made) > 1 and made[0].every:
                made[1].borrowed = made[0]
            return made
        if exactly is None:
            raise PlanError(f"{where}: of no kind that is known")
        return [self._option(exactly, where, name, None)]

    def _option(
        self, source: Mapping[str, Any], where: str, name: str, parent: str | None
    ) -> Option:
        rules = self._rules
        derives = rules.knows_derived and source.get("derivedAttributes")
        if derives and not (rules.derived and rules.variant == "experimental"):
            raise PlanError(f"{where}: has derived attributes, DRADerivedAttributes is off")
        selectors = source.get("selectors") or ()
        for number, selector in enumerate(selectors):
            if selector.get("cel") is None:
                raise PlanError(f"{where}, selector #{number}: of no kind that is known")
        if parent is None and not rules.admin_access and source.get("adminAccess") is not None:
            raise PlanError(f"{where}: asks for admin access, DRAAdminAccess is off")
        class_name = source.get("deviceClassName")
        if not class_name:
            raise PlanError(f"{where}: no device class")
        class_ = self._classes.get(class_name)
        if class_ is None:
            raise PlanError(f"{where}: no device class {class_name}")
        if source.get("allocationMode") not in (EXACT, ALL):
            raise PlanError(f"{where}: allocation mode {source.get('allocationMode')!r}")
        chain = self._index.chains.find(_expressions(class_.get("spec") or {}, source))
        made = Option(source, name=name, parent=parent, class_=class_, chain=chain)
        if not rules.knows_derived:
            made.derived = {}
        return made


def _constraint(number: int, spec: Mapping[str, Any], rules: Rules) -> Constraint:
    lists = rules.list_attributes
    made = Constraint(number, spec, lists=lists)
    if rules.forgets and (made.distinct or lists or rules.leaks):
        return Forgetful(number, spec, lists=lists)
    return made


def _expressions(*sources: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        (selector.get("cel") or {}).get("expression") or ""
        for source in sources
        for selector in source.get("selectors") or ()
    )
