"""The forms in which objects are answered: as they are, as a Table, or as metadata only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from typing import Protocol

from pytest_dra.embedded import columns
from pytest_dra.embedded import custom
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.errors import not_acceptable
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import encode
from pytest_dra.spec import Json

_META_VERSION: Final = "meta.k8s.io/v1"


class Shape(Protocol):
    """Turns snapshots into answers; ``None`` as answer object means: decode the bytes if asked."""

    def one(self, snapshot: Snapshot) -> Json:
        """One object."""

    def encoded(self, snapshot: Snapshot) -> bytes:
        """One object, encoded."""

    def many(self, snapshots: Sequence[Snapshot], meta: Json) -> tuple[Json, bytes]:
        """A list and its encoding."""


class Plain:
    """Objects as they are."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def one(self, snapshot: Snapshot) -> Json:
        """The object itself."""
        return self._kind.shown(snapshot)

    def encoded(self, snapshot: Snapshot) -> bytes:
        """The object, encoded once per state."""
        return self._kind.encoded(snapshot)

    def many(self, snapshots: Sequence[Snapshot], meta: Json) -> tuple[Json, bytes]:
        """A list, joined from what is already encoded."""
        resource, view = self._kind.resource, self._kind.view
        own = self._kind.custom is not None
        head = {
            "kind": f"{resource.kind}List",
            "apiVersion": resource.api_version,
            # kinds that are defined always show the token, and name themselves in each item
            "metadata": {"continue": "", **meta} if own else meta,
        }
        if own:
            items = [self._kind.shown(found) for found in snapshots]
            joined = b",".join([self._kind.encoded(found) for found in snapshots])
        else:
            items = [view(found.object) if view else found.object for found in snapshots]
            joined = b",".join([self._kind.encoded_item(found) for found in snapshots])
        return {**head, "items": items}, encode(head)[:-1] + b',"items":[' + joined + b"]}"


class Metadata:
    """Only the metadata of each object."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def one(self, snapshot: Snapshot) -> Json:
        """PartialObjectMetadata."""
        return {
            "kind": "PartialObjectMetadata",
            "apiVersion": _META_VERSION,
            "metadata": snapshot.object["metadata"],
        }

    def encoded(self, snapshot: Snapshot) -> bytes:
        """PartialObjectMetadata, encoded."""
        return encode(self.one(snapshot))

    def many(self, snapshots: Sequence[Snapshot], meta: Json) -> tuple[Json, bytes]:
        """PartialObjectMetadataList."""
        answer = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": _META_VERSION,
            "metadata": meta,
            "items": [self.one(found) for found in snapshots] or None,
        }
        return answer, encode(answer)


_ROWLESS: Final = ("Role", "ClusterRole")
"""Kinds that the server has no printer of: no rows are null."""


class UnfitError(Exception):
    """An event cannot be shown so: its stream ends."""


class Unfit:
    """Events as lists, which the server takes for good, and fails at the first one."""

    def one(self, snapshot: Snapshot) -> Json:
        """Never."""
        raise UnfitError

    def encoded(self, snapshot: Snapshot) -> bytes:
        """Never."""
        raise UnfitError

    def many(self, snapshots: Sequence[Snapshot], meta: Json) -> tuple[Json, bytes]:
        """Never."""
        raise UnfitError


class Table:
    """Rows of cells for kubectl. ``include`` is None, Metadata or Object."""

    def __init__(self, kind: Kind, include: str) -> None:
        if include not in ("", "None", "Metadata", "Object"):
            raise bad_request(
                f'unrecognized includeObject value: "{include}", want None, Metadata or Object'
            )
        self._kind = kind
        self._include = include or "Metadata"
        self._columns, self._cells = (
            custom.columns(kind.custom)
            if kind.custom is not None
            else columns.definitions(kind.resource.kind)
        )
        self._titled = False

    def _row(self, snapshot: Snapshot) -> Json:
        row: Json = {"cells": self._cells(snapshot.object)}
        if self._include == "Object":
            row["object"] = self._kind.shown(snapshot)
        elif self._include == "Metadata":
            row["object"] = Metadata(self._kind).one(snapshot)
        else:
            row["object"] = None
        return row

    def _table(self, rows: list[Json], meta: Json, *, titled: bool) -> Json:
        return {
            "kind": "Table",
            "apiVersion": _META_VERSION,
            "metadata": meta,
            "columnDefinitions": self._columns if titled else None,
            "rows": rows,
        }

    def one(self, snapshot: Snapshot) -> Json:
        """A table with one row; within a watch only the first one has column definitions."""
        titled, self._titled = not self._titled, True
        meta = {"resourceVersion": str(snapshot.rv)}
        return self._table([self._row(snapshot)], meta, titled=titled)

    def encoded(self, snapshot: Snapshot) -> bytes:
        """The same, encoded."""
        return encode(self.one(snapshot))

    def many(self, snapshots: Sequence[Snapshot], meta: Json) -> tuple[Json, bytes]:
        """A table of all."""
        rows = [self._row(found) for found in snapshots]
        answer = self._table(rows, meta, titled=True)
        if not rows and self._kind.resource.kind in _ROWLESS:
            answer["rows"] = None
        return answer, encode(answer)


def shape(kind: Kind, name: str, include: str, *, listed: bool | None = None) -> Shape:
    """The shape that was negotiated; ``listed``: of a list, of one object, or (None) of events.

    Raises:
        ApiError: 400, ``includeObject`` is unknown; 406, a list is no single object.
    """
    if name == "Table":
        return Table(kind, include)
    if name.startswith("PartialObjectMetadata"):
        if listed is not None and name.endswith("List") is not listed:
            raise not_acceptable(name)
        return Unfit() if listed is None and name.endswith("List") else Metadata(kind)
    return Plain(kind)
