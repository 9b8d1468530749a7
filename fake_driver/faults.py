"""One fault per case: what the driver does wrong with ``--fault=CASE-ID``.

A fault is one or more subclasses of the driver's parts, registered under the id of the case that
must fail then. The texts are those of the catalogue's field ``fault``.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
from collections.abc import Callable
from typing import Any
from typing import Final
from typing import TypeVar

from pytest_dra.fake_driver.driver import Parts
from pytest_dra.fake_driver.errors import StartError

Part = TypeVar("Part", bound=type[Any])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault: its case, what it does, and the parts that it puts in place of the good ones."""

    case: str
    text: str
    parts: dict[str, type[Any]] = dataclasses.field(default_factory=dict)


PLAIN: Final = Parts()
"""The parts of the driver without any fault."""

_MODULES: Final = (
    "faults_node",
    "faults_slice",
    "faults_pool",
    "faults_publishing",
    "faults_starting",
    "faults_claim",
    "faults_cdi",
    "faults_release",
    "faults_restart",
    "faults_update",
    "faults_request",
    "faults_failure",
    "faults_order",
    "faults_attributes",
    "faults_partitions",
    "faults_features",
    "faults_manifests",
    "faults_shares",
    "faults_pods",
    "faults_health",
    "faults_metadata",
    "faults_configuration",
    "faults_status",
    "faults_binding",
    "faults_strain",
    "faults_security",
    "faults_workloads",
    "faults_cluster",
)

_FAULTS: Final[dict[str, Fault]] = {}


def fault(case: str, text: str) -> Callable[[Part], Part]:
    """Register a subclass of a part as (a part of) the fault of ``case``."""

    def register(part: Part) -> Part:
        known = _FAULTS.setdefault(case, Fault(case=case, text=text))
        if known.text != text:
            raise ValueError(f"{case} has two texts")
        known.parts[_seam(part)] = part
        return part

    return register


def _seam(part: type[Any]) -> str:
    """The field of :class:`Parts` that a subclass belongs to."""
    for field in dataclasses.fields(Parts):
        good = field.default
        if isinstance(good, type) and issubclass(part, good):
            return field.name
    raise ValueError(f"{part.__name__} is no part of the driver")


def _load() -> None:
    """Import the modules that register faults."""
    for name in _MODULES:
        importlib.import_module(f"pytest_dra.fake_driver.{name}")


def all_faults() -> list[Fault]:
    """All faults, by case id."""
    _load()
    return [_FAULTS[case] for case in sorted(_FAULTS)]


def parts_with(case: str, parts: Parts = PLAIN) -> Parts:
    """``parts`` with the fault of ``case``; StartError if there is no such fault."""
    _load()
    if case not in _FAULTS:
        near = difflib.get_close_matches(case.upper(), _FAULTS, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "see --list-faults"
        raise StartError(f"there is no fault {case!r}; {hint}")
    return dataclasses.replace(parts, **_FAULTS[case].parts)
