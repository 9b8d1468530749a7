"""``metadata.managedFields``: who owns which field, after updates and applies."""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

from pytest_dra.embedded import fieldsets
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.fieldsets import EVERYTHING_BUT
from pytest_dra.embedded.fieldsets import FieldSet
from pytest_dra.embedded.scalars import now
from pytest_dra.spec import Json

APPLY: Final = "Apply"
UPDATE: Final = "Update"

_BEFORE: Final = "before-first-apply"
"""Owner of what an untracked object has when it is applied to for the first time."""

_UPDATERS_MAX: Final = 10
_ANCIENT: Final = "ancient-changes"
"""Above that many entries of updates, the oldest ones are thrown together under this name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Manager:
    """One owner: a name, APPLY or UPDATE, the version it writes, and the subresource."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """What a write is about: the type in the table, and the top-level fields that it may change.

    ``fields`` empty: all.
    """

    kind: str
    fields: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def cut(self, paths: FieldSet) -> FieldSet:
        """The paths that this kind of write can own."""
        if self.fields:
            roots = frozenset((f"f:{name}",) for name in self.fields)
            paths = fieldsets.within(paths, roots)
        gone = EVERYTHING_BUT | frozenset((f"f:{name}",) for name in self.ignored)
        return fieldsets.without(paths, gone)


class Managers:
    """The owners of one object; changes go into :meth:`entries`."""

    def __init__(self, entries: Any) -> None:
        self._sets: dict[Manager, FieldSet] = {}
        self._times: dict[Manager, str] = {}
        for entry in entries or []:
            manager = Manager(
                entry.get("manager", ""),
                entry.get("operation", ""),
                entry.get("apiVersion", ""),
                entry.get("subresource", ""),
            )
            found = self._sets.get(manager, frozenset())
            self._sets[manager] = found | fieldsets.decode(entry.get("fieldsV1"))
            if entry.get("time"):
                self._times[manager] = entry["time"]

    def __bool__(self) -> bool:
        return bool(self._sets)

    def update(self, manager: Manager, scope: Scope, old: Json, new: Json) -> None:
        """Note what an update changed: it owns that now, and others no longer do."""
        found = fieldsets.difference(scope.kind, old, new)
        changed, removed = scope.cut(found.changed), scope.cut(found.removed)
        if not changed and not removed:
            return
        for other, owned in self._sets.items():
            self._sets[other] = owned - removed - (frozenset() if other == manager else changed)
        if changed:
            self._sets[manager] = self._sets.get(manager, frozenset()) | changed
            self._times[manager] = now()
        self._drop_empty()
        self._cap()

    def first_apply(self, manager: Manager, scope: Scope, empty: Json, live: Json) -> None:
        """Give everything that is there to a manager of its own, if nothing is tracked yet."""
        if not self._sets:
            before = Manager(_BEFORE, UPDATE, manager.api_version, manager.subresource)
            self.update(before, scope, empty, live)

    def apply(
        self,
        manager: Manager,
        scope: Scope,
        configuration: Json,
        live: Json,
        merged: Json,
        *,
        force: bool,
    ) -> Json:
        """Note an applied configuration; ``merged`` is ``live`` with it put in.

        Returns ``merged`` without what the manager applied before and no longer does, unless
        somebody else owns it.

        Raises:
            ApiError: 409, it changes what others own, and is not forced.
        """
        last = self._sets.get(manager, frozenset())
        self._sets[manager] = scope.cut(fieldsets.named(scope.kind, configuration))
        kept = frozenset().union(*self._sets.values())
        result = fieldsets.prune(scope.kind, merged, last - kept, kept)
        found = fieldsets.difference(scope.kind, live, result)
        changed, removed = scope.cut(found.changed), scope.cut(found.removed)
        conflicts = {
            other: owned & changed
            for other, owned in self._sets.items()
            if other != manager and owned & changed
        }
        if conflicts and not force:
            raise _conflict(conflicts)
        for other, owned in self._sets.items():
            self._sets[other] = owned - removed - conflicts.get(other, frozenset())
        if changed or removed:
            self._times[manager] = now()
        self._drop_empty()
        return result

    def _drop_empty(self) -> None:
        for manager in [found for found, owned in self._sets.items() if not owned]:
            del self._sets[manager]
            self._times.pop(manager, None)

    def _cap(self) -> None:
        """Keep the list short, as the server does it: old updates become one entry."""
        updates = [found for found in self._sets if found.operation == UPDATE]
        if len(updates) <= _UPDATERS_MAX:
            return
        updates.sort(key=lambda found: (self._times.get(found, ""), found.name))
        for oldest in updates[: len(updates) - _UPDATERS_MAX + 1]:
            ancient = Manager(_ANCIENT, UPDATE, oldest.api_version)
            if oldest == ancient:
                continue
            owned, time = self._sets.pop(oldest), self._times.pop(oldest, "")
            self._sets[ancient] = self._sets.get(ancient, frozenset()) | owned
            self._times[ancient] = max(self._times.get(ancient, ""), time)

    def entries(self) -> list[Json]:
        """``managedFields``: applies first, those without a time before others, then by name.

        The real server orders by whole seconds before names. Here a run is one moment, so that
        the order does not depend on the clock.
        """
        order = sorted(
            self._sets,
            key=lambda found: (
                found.operation,
                found in self._times,
                found.name,
                found.api_version,
                found.subresource,
            ),
        )
        return [self._entry(manager) for manager in order]

    def _entry(self, manager: Manager) -> Json:
        entry: Json = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
        }
        if manager in self._times:
            entry["time"] = self._times[manager]
        entry["fieldsType"] = "FieldsV1"
        entry["fieldsV1"] = fieldsets.encode(self._sets[manager])
        if manager.subresource:
            entry["subresource"] = manager.subresource
        return entry


def is_reset(entries: Any) -> bool:
    """True for ``[{}]``, with which a client ends all tracking of an object."""
    return isinstance(entries, list) and len(entries) == 1 and not entries[0]


def timeless(entries: Any) -> list[Json]:
    """The entries without their times, which alone make no change."""
    return [
        {name: value for name, value in entry.items() if name != "time"} for entry in entries or []
    ]


def _conflict(conflicts: dict[Manager, FieldSet]) -> ApiError:
    causes: list[Json] = []
    for manager in sorted(conflicts, key=lambda found: (found.name, found.subresource)):
        who = f'conflict with "{manager.name}"'
        if manager.subresource:
            who += f' with subresource "{manager.subresource}"'
        if manager.operation == UPDATE:
            who += f" using {manager.api_version}"
        for path in sorted(conflicts[manager]):
            field = "".join(fieldsets.items(path))
            causes.append({"reason": "FieldManagerConflict", "message": who, "field": field})
    listed = ", ".join(f"{cause['message']}: {cause['field']}" for cause in causes[:10])
    number = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    return ApiError(
        409,
        "Conflict",
        f"Apply failed with {number}: {listed}",
        details={"causes": causes},
    )
