"""A control loop: it looks at everything it knows after each change, and when something is due."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from types import TracebackType
from typing import Final
from typing import Protocol

from pytest_dra.api.resources import Resource
from pytest_dra.controllers.informer import Informer
from pytest_dra.kube import CONFLICT
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json

_LOG: Final = logging.getLogger(__name__)

AGAIN_S: Final = 0.05
"""Pause before the next look where the server said that something has changed meanwhile."""

RETRY_S: Final = 1.0
"""Pause after another failure."""

_SYNC_S: Final = 30.0
"""Longest wait for the first lists."""

_STOP_S: Final = 60.0
"""Longest wait for a loop that ends: one call of a driver takes 45 s at most."""


Within = Callable[[str], bool]
"""Whether a loop is to act in a namespace."""


def everywhere(namespace: str) -> bool:
    """True for every namespace."""
    return True


class SyncError(Exception):
    """The objects of the cluster cannot be read."""


class Loop(Protocol):
    """What can be run by :class:`Background`."""

    def run(self) -> None:
        """Until :meth:`stop` is called from another thread."""

    def stop(self) -> None:
        """End it soon."""


class Follower:
    """Keeps the objects of some resources, until it is stopped.

    Args:
        client: with the rights that it needs.
        listed: what it looks at.
        optional: those that the server may not have.
    """

    def __init__(
        self, client: Client, listed: Iterable[Resource], *, optional: Iterable[Resource] = ()
    ) -> None:
        self.client = client
        self._changed = threading.Event()
        self._stopped = threading.Event()
        missing = frozenset(optional)
        self._informers = {
            one: Informer(client, one, self._changed, optional=one in missing) for one in listed
        }

    @contextlib.contextmanager
    def _following(self) -> Iterator[None]:
        """Know the objects as they are, from the beginning of a context to its end.

        Raises:
            SyncError: the objects could not be read.
        """
        try:
            for informer in self._informers.values():
                informer.start()
            for informer in self._informers.values():
                if not informer.synced.wait(_SYNC_S):
                    why = informer.failure or "no answer"
                    raise SyncError(f"{informer.resource.qualified}: {why}")
            yield
        finally:
            for informer in self._informers.values():
                informer.stop()

    def stop(self) -> None:
        """End it soon; callable from any thread and from signal handlers."""
        self._stopped.set()
        self._changed.set()

    @property
    def stopped(self) -> bool:
        """True once it is to end."""
        return self._stopped.is_set()

    def written(self, resource: Resource, obj: Json) -> None:
        """Take what the server has answered to a write."""
        self._informers[resource].put(obj)


class ControlLoop(Follower):
    """Calls :meth:`round` until it is stopped. ``within``: the namespaces that it acts in."""

    def __init__(
        self,
        client: Client,
        listed: Iterable[Resource],
        *,
        optional: Iterable[Resource] = (),
        within: Within = everywhere,
    ) -> None:
        super().__init__(client, listed, optional=optional)
        self._within = within

    def round(self) -> float | None:
        """Do what is to be done now; seconds until something is due, None if nothing is.

        A :class:`KubeError` is written down, and followed by another round soon.
        """
        raise NotImplementedError

    def run(self) -> None:
        """Until :meth:`stop` is called.

        Raises:
            SyncError: the objects could not be read.
        """
        with self._following():
            while not self._stopped.is_set():
                self._changed.clear()
                self._changed.wait(self._guarded_round())

    def wake(self) -> None:
        """Let it look again though nothing has changed in the cluster."""
        self._changed.set()

    @property
    def synced(self) -> bool:
        """True once it knows all objects."""
        return all(one.synced.is_set() for one in self._informers.values())

    def objects(self, resource: Resource) -> list[Json]:
        """The objects in the namespaces of the loop. They may not be changed."""
        found = self._informers[resource].objects()
        if not resource.namespaced:
            return found
        return [one for one in found if self._within(str(one["metadata"].get("namespace") or ""))]

    def _guarded_round(self) -> float | None:
        try:
            return self.round()
        except KubeError as error:
            return pause_after(error)


def pause_after(error: KubeError) -> float:
    """Seconds until another attempt; what is more than a race is written down."""
    if error.code in (CONFLICT, NOT_FOUND):
        return AGAIN_S
    _LOG.warning("%s", error)
    return RETRY_S


def soonest(*spans: float | None) -> float | None:
    """The shortest of some spans in seconds."""
    return min((one for one in spans if one is not None), default=None)


class Background:
    """Runs loops in threads of their own, from the beginning of a context to its end."""

    def __init__(self, loops: Iterable[Loop]) -> None:
        self._loops = tuple(loops)
        self._threads = [
            threading.Thread(target=self._run, args=(one,), name=_name(one), daemon=True)
            for one in self._loops
        ]
        self.failures: list[str] = []

    def __enter__(self) -> Background:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for loop in self._loops:
            loop.stop()
        for thread in self._threads:
            thread.join(_STOP_S)

    def _run(self, loop: Loop) -> None:
        try:
            loop.run()
        except Exception as error:  # whoever waits for its work has to learn why there is none
            self.failures.append(f"{_name(loop)}: {type(error).__name__}: {error}")
            _LOG.exception("%s ended", _name(loop))


def _name(loop: Loop) -> str:
    return f"dra-{type(loop).__name__}"
