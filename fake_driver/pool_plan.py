"""What has to be written so that a pool is published as wanted: pure, without the API server."""

from __future__ import annotations

import dataclasses
import decimal
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import Final

_SUFFIXES: Final = {
    "n": decimal.Decimal("1e-9"),
    "u": decimal.Decimal("1e-6"),
    "m": decimal.Decimal("1e-3"),
    "": decimal.Decimal(1),
    **{s: decimal.Decimal(1000) ** (n + 1) for n, s in enumerate(("k", "M", "G", "T", "P", "E"))},
    **{
        s: decimal.Decimal(1024) ** (n + 1)
        for n, s in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
    },
}

_SET_BY_SERVER: Final = frozenset({"generation", "timeAdded"})
"""Fields that are compared elsewhere or filled in by the API server."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """Writes for one pool: delete ``obsolete``, update ``changed``, create ``missing``."""

    generation: int
    obsolete: tuple[dict[str, Any], ...]
    changed: tuple[tuple[int, dict[str, Any]], ...]
    missing: tuple[int, ...]

    @property
    def writes(self) -> int:
        """Number of API writes."""
        return len(self.obsolete) + len(self.changed) + len(self.missing)


def plan(
    specs: Sequence[dict[str, Any]],
    published: Sequence[dict[str, Any]],
    *,
    index_of: Callable[[dict[str, Any]], int | None],
    right: Callable[[dict[str, Any], dict[str, Any]], bool],
    last_generation: int,
    kept: int = 1,
) -> PoolPlan:
    """Compare the wanted slice specs of a pool with its published slices.

    ``index_of`` finds which wanted slice a published one is, ``right`` tells whether it says so.
    A change of at most ``kept`` slices keeps the generation.
    """
    newest = max((_generation(item) for item in published), default=0)
    matched: dict[int, dict[str, Any]] = {}
    obsolete = []
    for item in sorted(published, key=lambda one: (-_generation(one), one["metadata"]["name"])):
        index = index_of(item)
        usable = index is not None and index < len(specs) and _generation(item) == newest
        if usable and index not in matched and _same_place(item["spec"], specs[index or 0]):
            matched[index or 0] = item
        else:
            obsolete.append(item)
    missing = tuple(index for index in range(len(specs)) if index not in matched)
    wrong = [(index, item) for index, item in matched.items() if not right(item, specs[index])]
    base = max(newest, last_generation)
    if not missing and len(wrong) <= kept:
        return PoolPlan(
            generation=newest, obsolete=tuple(obsolete), changed=tuple(wrong), missing=()
        )
    return PoolPlan(
        generation=base + 1,
        obsolete=tuple(obsolete),
        changed=tuple(sorted(matched.items())),
        missing=missing,
    )


def _generation(item: dict[str, Any]) -> int:
    return int(item["spec"]["pool"].get("generation") or 0)


def _same_place(published: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """True if no immutable field differs, so that an update is possible."""
    return published.get("nodeName") == wanted.get("nodeName")


def dropped(wanted: Any, got: Any, path: str = "spec") -> str:
    """Path of the first value of ``wanted`` that is not in ``got``, empty if all are.

    Quantities count as equal if they mean the same number.
    """
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key, value in wanted.items():
            if key not in _SET_BY_SERVER and (key in got or not _empty(value)):
                lost = dropped(value, got.get(key), f"{path}.{key}")
                if lost:
                    return lost
        return ""
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for n, (one, other) in enumerate(zip(wanted, got, strict=True)):
            lost = dropped(one, other, f"{path}[{n}]")
            if lost:
                return lost
        return ""
    return "" if wanted == got or _same_quantity(wanted, got) else path


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, (list, dict)) and not value)


def _same_quantity(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    number = _quantity(one)
    return number is not None and number == _quantity(other)


def _quantity(value: Any) -> decimal.Decimal | None:
    text = str(value)
    digits = text.rstrip("numkMGTPEi")
    try:
        return decimal.Decimal(digits) * _SUFFIXES[text[len(digits) :]]
    except (decimal.InvalidOperation, KeyError):
        return None
