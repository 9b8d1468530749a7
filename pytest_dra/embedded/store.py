"""The objects: immutable snapshots, one version counter for all kinds, and a history of changes."""

from __future__ import annotations

import bisect
import dataclasses
import json
import time
import zlib
from collections import deque
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

from pytest_dra.embedded import raw
from pytest_dra.embedded.scalars import JsonFloat
from pytest_dra.embedded.selectors import FieldReader
from pytest_dra.embedded.selectors import Selector
from pytest_dra.spec import Json

HISTORY: Final = 5000
"""Changes kept per kind; a watch from further back gets 410, as on a server that compacted."""

_VERSIONS_PER_SECOND: Final = 1000
"""Versions start at the clock times this, so that a restarted server grows past its former self."""


def encode(value: object) -> bytes:
    """JSON as the server sends it: compact, UTF-8; what is no character becomes one."""
    try:
        return _ENCODER.encode(value).encode("utf-8", "replace")
    except ValueError:
        # a number of free JSON that no float can hold
        return raw.text_of(value).encode("utf-8", "replace")


_ENCODER: Final = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=False, check_circular=False, allow_nan=False
)


class Snapshot:
    """One state of one object. Whoever holds it may keep it: it never changes.

    Of kinds with thousands of large objects those that nobody has written for a while rest: their
    text is kept, compressed, and the object is not, which takes a twentieth of the memory, and of
    the time of the garbage collector.
    """

    __slots__ = ("_bytes", "_lean", "_object", "_packed", "name", "namespace", "rv")

    def __init__(self, obj: Json, rv: int) -> None:
        self._object: Json | None = obj
        self._lean = obj
        self.rv = rv
        meta = obj["metadata"]
        self.namespace: str = meta.get("namespace", "")
        self.name: str = meta.get("name", "")
        self._bytes: bytes | None = None
        self._packed = b""

    @property
    def object(self) -> Json:
        """The object, without kind and apiVersion; decoded anew where it rests."""
        if self._object is not None:
            return self._object
        found: Json = _DECODER.decode(self.encoded.decode())
        return found

    @property
    def lean(self) -> Json:
        """As much of the object as selectors and tables look at: it may lack managed fields, and
        the lists of its spec."""
        return self._lean

    @property
    def encoded(self) -> bytes:
        """The object in JSON without kind and apiVersion, as it stands in lists; encoded once."""
        if self._packed:
            return zlib.decompress(self._packed)
        if self._bytes is None:
            self._bytes = encode(self._object)
        return self._bytes

    def at(self, rv: int) -> Snapshot:
        """The same state under another version."""
        before, after = (f'"resourceVersion":"{each}"'.encode() for each in (self.rv, rv))
        meta = {**self._lean["metadata"], "resourceVersion": str(rv)}
        if self._object is None and self.encoded.count(before) == 1:
            found = Snapshot({**self._lean, "metadata": meta}, rv)
            found._bytes = self.encoded.replace(before, after)
            found._object = None
            return found
        obj = self.object
        return Snapshot({**obj, "metadata": {**obj["metadata"], **meta}}, rv)

    def rest(self) -> None:
        """Keep the text instead of the object."""
        if self._packed:
            return
        self._packed = zlib.compress(self.encoded, FASTEST)
        self._bytes = None
        obj, self._object = self._object, None
        if obj is not None:
            meta = {key: part for key, part in obj["metadata"].items() if key != "managedFields"}
            spec = {key: part for key, part in obj["spec"].items() if type(part) is not list}
            self._lean = {"metadata": meta, "spec": spec}


FASTEST: Final = 1
"""Level of compression: 10 us for a slice of 16 devices, which makes a tenth of it."""

_DECODER: Final = json.JSONDecoder(parse_float=JsonFloat)

RESTING: Final = ".ResourceSlice"
"""End of the names of the kinds whose states may rest: without free JSON, which has more to it
than its text says."""

AWAKE: Final = 100
"""The youngest states of such a kind, which do not rest: those that are still being written."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One write. ``new`` is None for a deletion, ``old`` for a creation.

    ``gone`` is what watchers see of a deleted object: its last state with the deletion's version.
    """

    rv: int
    old: Snapshot | None
    new: Snapshot | None
    gone: Snapshot | None = None


Key = tuple[str, str]
"""Namespace ("" for cluster-scoped objects) and name."""


@dataclasses.dataclass(slots=True)
class Bucket:
    """The objects of one stored kind. ``forgotten`` is the version of the youngest lost change.

    ``awake`` are the states that do not rest yet, None where none ever does; ``indexes`` are those
    of the fields that somebody has selected by.
    """

    objects: dict[Key, Snapshot] = dataclasses.field(default_factory=dict)
    history: deque[Change] = dataclasses.field(default_factory=deque)
    forgotten: int = 0
    listeners: list[Callable[[Change], None]] = dataclasses.field(default_factory=list)
    awake: deque[Snapshot] | None = None
    indexes: dict[FieldReader, dict[str, set[Key]]] = dataclasses.field(default_factory=dict)

    def index(self, read: FieldReader) -> Mapping[str, set[Key]]:
        """The objects by the text of a field: made at the first question, and kept from then on."""
        found = self.indexes.get(read)
        if found is None:
            found = self.indexes[read] = {}
            for key, state in self.objects.items():
                found.setdefault(read(state.lean), set()).add(key)
        return found

    def note(self, key: Key, old: Snapshot | None, new: Snapshot | None) -> None:
        """Keep the indexes up to date."""
        for read, index in self.indexes.items():
            before = None if old is None else read(old.lean)
            after = None if new is None else read(new.lean)
            if before == after:
                continue
            if before is not None:
                index[before].discard(key)
                if not index[before]:
                    del index[before]
            if after is not None:
                index.setdefault(after, set()).add(key)


class Store:
    """All objects. Used from the server's loop only; calls never wait.

    Args:
        history: changes kept per kind.
    """

    def __init__(self, *, history: int = HISTORY) -> None:
        self._buckets: dict[str, Bucket] = {}
        self._uids: set[str] = set()
        self._owned: dict[str, set[tuple[str, Key]]] = {}
        self.listeners: list[Callable[[str, Change], None]] = []
        self._history = history
        self.version = int(time.time() * _VERSIONS_PER_SECOND)

    def bucket(self, kind: str) -> Bucket:
        """The objects of a stored kind, named like ``resource.ResourceSlice``."""
        found = self._buckets.get(kind)
        if found is None:
            awake: deque[Snapshot] | None = deque() if kind.endswith(RESTING) else None
            found = self._buckets[kind] = Bucket(forgotten=0, awake=awake)
        return found

    def kinds(self) -> list[str]:
        """The stored kinds that ever had an object or a watcher."""
        return list(self._buckets)

    def uses(self, namespace: str) -> bool:
        """True if there is any object in the namespace."""
        return any(
            key[0] == namespace for bucket in self._buckets.values() for key in bucket.objects
        )

    def get(self, kind: str, namespace: str, name: str) -> Snapshot | None:
        """The present state of an object, or None."""
        return self.bucket(kind).objects.get((namespace, name))

    def put(self, kind: str, obj: Json) -> Snapshot:
        """Store a new state under the next version, which is written into ``obj``."""
        bucket = self.bucket(kind)
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        new = Snapshot(obj, self.version)
        key = (new.namespace, new.name)
        old = bucket.objects.get(key)
        bucket.objects[key] = new
        self._index(kind, key, old, new)
        self._record(kind, bucket, Change(self.version, old, new))
        return new

    def remove(self, kind: str, key: Key) -> Snapshot:
        """Delete an object; returns its last state with the version of the deletion.

        Raises:
            KeyError: there is no such object.
        """
        bucket = self.bucket(kind)
        old = bucket.objects.pop(key)
        self._index(kind, key, old, None)
        self.version += 1
        gone = old.at(self.version)
        self._record(kind, bucket, Change(self.version, old, None, gone))
        return gone

    def _index(self, kind: str, key: Key, old: Snapshot | None, new: Snapshot | None) -> None:
        self.bucket(kind).note(key, old, new)
        for state in (old, new):
            if state is None:
                continue
            meta = state.lean["metadata"]
            if state is new:
                self._uids.add(meta["uid"])
            else:
                self._uids.discard(meta["uid"])
            for owner in meta.get("ownerReferences") or ():
                owned = self._owned.setdefault(owner["uid"], set())
                if state is new:
                    owned.add((kind, key))
                else:
                    owned.discard((kind, key))
                if not owned:
                    del self._owned[owner["uid"]]

    def owned_by(self, uid: str) -> list[tuple[str, Snapshot]]:
        """The objects that name ``uid`` as an owner."""
        return [
            (kind, self.bucket(kind).objects[key]) for kind, key in sorted(self._owned.get(uid, ()))
        ]

    def orphaned_by(self, uid: str) -> list[tuple[str, Snapshot]]:
        """The objects that name ``uid`` as owner and have no owner that is still there."""
        found = []
        for kind, key in sorted(self._owned.get(uid, ())):
            state = self.bucket(kind).objects[key]
            owners = state.lean["metadata"]["ownerReferences"]
            if not any(owner["uid"] in self._uids for owner in owners):
                found.append((kind, state))
        return found

    def clear(self) -> None:
        """Lose everything, as a server whose storage was thrown away; versions go on growing."""
        self.version = max(self.version + 1, int(time.time() * _VERSIONS_PER_SECOND))
        self._uids.clear()
        self._owned.clear()
        for bucket in self._buckets.values():
            bucket.objects.clear()
            bucket.indexes.clear()
            bucket.history.clear()
            bucket.forgotten = self.version

    def forget(self, kind: str) -> None:
        """Lose the history of a kind, as by compaction: no version seen so far can be resumed."""
        self.version += 1
        bucket = self.bucket(kind)
        bucket.history.clear()
        bucket.forgotten = self.version

    def keep_history(self, changes: int) -> int:
        """Keep so many changes per kind from now on; returns how many it was until now."""
        before, self._history = self._history, changes
        for bucket in self._buckets.values():
            self._shorten(bucket)
        return before

    def _shorten(self, bucket: Bucket) -> None:
        while len(bucket.history) > self._history:
            bucket.forgotten = bucket.history.popleft().rv

    def _record(self, kind: str, bucket: Bucket, change: Change) -> None:
        bucket.history.append(change)
        self._shorten(bucket)
        self._lay_to_rest(bucket, change)
        for listener in tuple(bucket.listeners):
            listener(change)
        for watcher in self.listeners:
            watcher(kind, change)

    @staticmethod
    def _lay_to_rest(bucket: Bucket, change: Change) -> None:
        state, awake = change.new or change.gone, bucket.awake
        if awake is None or state is None:
            return
        awake.append(state)
        if len(awake) > AWAKE:
            awake.popleft().rest()

    def matching(self, kind: str, namespace: str | None, chosen: Selector) -> list[Snapshot]:
        """Of those that :meth:`sorted` gives the ones that are selected."""
        bucket = self.bucket(kind)
        states: Iterable[Snapshot] = bucket.objects.values()
        if chosen.equal is not None:
            read, value = chosen.equal
            keys = bucket.index(read).get(value, ())
            states = [bucket.objects[key] for key in keys]
        found = [state for state in states if chosen.matches(state.lean)]
        if namespace is not None:
            found = [state for state in found if state.namespace == namespace]
        return sorted(found, key=lambda state: (state.namespace, state.name))

    def sorted(self, kind: str, namespace: str | None = None) -> list[Snapshot]:
        """The objects of a kind by namespace and name; ``namespace`` None means all."""
        objects = self.bucket(kind).objects
        if namespace is None:
            return [objects[key] for key in sorted(objects)]
        return [objects[key] for key in sorted(objects) if key[0] == namespace]

    def as_of(self, kind: str, rv: int, namespace: str | None = None) -> list[Snapshot] | None:
        """The objects as they were at version ``rv``; None if the history does not reach back."""
        bucket = self.bucket(kind)
        if rv < bucket.forgotten:
            return None
        objects = dict(bucket.objects)
        for change in reversed(bucket.history):
            if change.rv <= rv:
                break
            state = change.new or change.old
            if state is None:
                continue
            key = (state.namespace, state.name)
            if change.old is None:
                objects.pop(key, None)
            else:
                objects[key] = change.old
        return [objects[key] for key in sorted(objects) if namespace is None or key[0] == namespace]

    def since(self, kind: str, rv: int) -> list[Change] | None:
        """The changes after version ``rv``; None if some of them are forgotten."""
        bucket = self.bucket(kind)
        if rv < bucket.forgotten:
            return None
        at = bisect.bisect_right([change.rv for change in bucket.history], rv)
        return list(_tail(bucket.history, at))


def _tail(history: deque[Change], at: int) -> Iterator[Change]:
    for index, change in enumerate(history):
        if index >= at:
            yield change
