"""WATCH: events from the history and live, streaming lists, bookmarks."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator
from collections.abc import Callable
from typing import Final

from pytest_dra.embedded import errors
from pytest_dra.embedded import reads
from pytest_dra.embedded import typed
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.options import ListOptions
from pytest_dra.embedded.shapes import Plain
from pytest_dra.embedded.shapes import Shape
from pytest_dra.embedded.shapes import UnfitError
from pytest_dra.embedded.store import Change
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.store import encode

BACKLOG: Final = 10_000
"""Events that may wait for a slow watcher; then its stream is closed, as on a real server."""

BOOKMARK_S: Final = 60.0
"""Time between two bookmarks of a watch that asked for them."""

_TIMEOUT_MIN_S: Final = 1800
_TIMEOUT_MAX_S: Final = 3600
"""A watch without timeoutSeconds ends at random in this span: clients shall not come together."""

STALL_LOOK_S: Final = 0.05
"""Pause between two looks whether a stalled watch may go on."""

INITIAL_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events."""


class Watch:
    """One open watch: iterate over :meth:`frames`, and :meth:`close` it in any case."""

    def __init__(
        self,
        store: Store,
        kind: Kind,
        namespace: str | None,
        options: ListOptions,
        shape: Shape,
    ) -> None:
        self._store = store
        self._kind = kind
        self._namespace = namespace
        self._options = options
        self._shape = shape
        self._selector = reads.selector(kind, options)
        self._waiting: deque[Change] = deque()
        self._woken = asyncio.Event()
        self._overflow = False
        self._after = 0
        self._listeners = store.bucket(kind.storage).listeners
        self._initial: list[Snapshot] = []
        self._failure: ApiError | None = None
        self._span_s: float = options.timeout_s or random.randint(_TIMEOUT_MIN_S, _TIMEOUT_MAX_S)  # noqa: S311  spreads load
        self._ended = False
        self.stalled: Callable[[], bool] = _never
        self._open()

    def _open(self) -> None:
        """Take the state and the place in the history now, before anything else is written."""
        options, store = self._options, self._store
        listed = options.initial_events is True or (
            options.initial_events is None and options.rv == 0
        )
        if listed:
            self._after = store.version
            self._initial = [
                found
                for found in store.sorted(self._kind.storage, self._namespace)
                if self._selector.matches(found.object)
            ]
        elif options.rv == 0:
            self._after = store.version
        else:
            self._after = options.rv
            past = store.since(self._kind.storage, options.rv)
            if past is None:
                self._failure = errors.expired(
                    f"too old resource version: {options.rv} "
                    f"({store.bucket(self._kind.storage).forgotten})"
                )
            else:
                self._waiting.extend(past)
        self._listeners.append(self._hear)

    def _hear(self, change: Change) -> None:
        if len(self._waiting) >= BACKLOG:
            self._overflow = True
        else:
            self._waiting.append(change)
        self._woken.set()

    def close(self) -> None:
        """Stop listening; may be called twice."""
        if self._hear in self._listeners:
            self._listeners.remove(self._hear)

    def shorten(self, span_s: float | None) -> None:
        """End in order after ``span_s`` seconds, if that is earlier than planned."""
        if span_s is not None:
            self._span_s = min(self._span_s, span_s)

    def fail(self, failure: ApiError) -> None:
        """Send nothing but this failure; only before :meth:`frames` begins."""
        self._failure = failure

    def end(self) -> None:
        """End in order, now."""
        self._ended = True
        self._woken.set()

    async def frames(self) -> AsyncIterator[bytes]:
        """Blocks of events to send, until the watch times out or fails."""
        try:
            async for block in self._all():
                yield block
        except UnfitError:
            return

    async def _all(self) -> AsyncIterator[bytes]:
        options = self._options
        if not self._failure and options.initial_events and options.rv > self._store.version:
            self._failure = await reads.catch_up(self._store, options.rv)
        if self._failure:
            yield frame("ERROR", encode(self._failure.status()))
            return
        if self._initial:
            yield b"".join([frame("ADDED", self._shape.encoded(found)) for found in self._initial])
        if options.bookmarks and (
            options.initial_events or (options.initial_events is None and options.rv == 0)
        ):
            yield self._bookmark(self._after, ends_initial=True)
        self._initial = []
        async for block in self._live():
            yield block

    async def _live(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._span_s
        bookmark_at = loop.time() + BOOKMARK_S
        while not self._overflow and not self._ended:
            if self.stalled():
                # in steps, because the end of a rule wakes nobody
                await asyncio.sleep(STALL_LOOK_S)
                continue
            block = self._drain()
            if block:
                yield block
                continue
            left = end - loop.time()
            if left <= 0:
                return
            if self._options.bookmarks and loop.time() >= bookmark_at:
                bookmark_at += BOOKMARK_S
                yield self._bookmark(self._store.version, ends_initial=False)
                continue
            self._woken.clear()
            wait_s = min(left, bookmark_at - loop.time()) if self._options.bookmarks else left
            handle = loop.call_later(max(0.0, wait_s), self._woken.set)
            try:
                await self._woken.wait()
            finally:
                handle.cancel()

    def _drain(self) -> bytes:
        out: list[bytes] = []
        while self._waiting:
            change = self._waiting.popleft()
            if change.rv > self._after:
                out.append(self._event(change))
        return b"".join(out)

    def _event(self, change: Change) -> bytes:
        state = change.new or change.old
        if state is None or (self._namespace is not None and state.namespace != self._namespace):
            return b""
        was = change.old is not None and self._selector.matches(change.old.object)
        if change.new is None:
            gone = change.gone
            return frame("DELETED", self._shape.encoded(gone)) if was and gone else b""
        if self._selector.matches(change.new.object):
            return frame("MODIFIED" if was else "ADDED", self._shape.encoded(change.new))
        if not was or change.old is None:
            return b""
        return frame("DELETED", self._shape.encoded(reversion(change.old, change.rv)))

    def _bookmark(self, rv: int, *, ends_initial: bool) -> bytes:
        shown = isinstance(self._shape, Plain)
        blank = typed.empty(self._kind.type if shown else self._kind.storage)
        meta: dict[str, object] = {"resourceVersion": str(rv)}
        if ends_initial:
            meta["annotations"] = {INITIAL_END: "true"}
        blank["metadata"] = meta
        if shown:
            resource = self._kind.resource
            named = {"kind": resource.kind, "apiVersion": resource.api_version, **blank}
            return frame("BOOKMARK", encode(named))
        return frame("BOOKMARK", self._shape.encoded(Snapshot(blank, rv)))


def _never() -> bool:
    return False


def reversion(snapshot: Snapshot, rv: int) -> Snapshot:
    """The same state under another version."""
    meta = {**snapshot.object["metadata"], "resourceVersion": str(rv)}
    return Snapshot({**snapshot.object, "metadata": meta}, rv)


def frame(event: str, obj: bytes) -> bytes:
    """One line of the stream."""
    return b'{"type":"' + event.encode() + b'","object":' + obj + b"}\n"
