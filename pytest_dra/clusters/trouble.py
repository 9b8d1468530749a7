"""Misbehaviour of the embedded API server, as cases ask for it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextlib import contextmanager

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded.served import serving
from pytest_dra.embedded.server import ApiServer
from pytest_dra.embedded.trouble import EVERYTHING
from pytest_dra.embedded.trouble import Caused
from pytest_dra.embedded.trouble import Effect
from pytest_dra.embedded.trouble import Scope


class EmbeddedTrouble:
    """See :class:`pytest_dra.clusters.protocol.Trouble`."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def refuse(
        self, scope: Scope, code: int, *, retry_after_s: int | None = None, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """Answer with a failure instead of carrying the request out."""
        return self._rule(scope, Effect(code=code, retry_after_s=retry_after_s), times)

    def delay(
        self, scope: Scope, seconds: float, *, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """Carry the request out later."""
        return self._rule(scope, Effect(before_s=seconds), times)

    @contextmanager
    def hold(self, scope: Scope, *, times: int | None = None) -> Iterator[Caused]:
        """Let requests wait until the end of the context, and carry them out then."""
        released = threading.Event()
        try:
            with self._rule(scope, Effect(holds=(released,)), times) as caused:
                yield caused
        finally:
            released.set()

    def delay_answers(
        self, scope: Scope, seconds: float, *, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """Carry the request out at once, but answer later."""
        return self._rule(scope, Effect(after_s=seconds), times)

    def lose_answers(
        self, scope: Scope, *, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """Carry the request out, but cut the connection instead of answering."""
        return self._rule(scope, Effect(loses_answer=True), times)

    def time_out(self, scope: Scope, *, times: int | None = None) -> AbstractContextManager[Caused]:
        """Carry the request out, but answer 504."""
        return self._rule(scope, Effect(times_out=True), times)

    def end_watches_after(
        self, scope: Scope, seconds: float, *, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """End watches that are opened meanwhile in order after some time."""
        return self._rule(_watches(scope), Effect(watch_s=seconds), times)

    def stall_watches(self, scope: Scope = EVERYTHING) -> AbstractContextManager[Caused]:
        """Tell open watches nothing, without ending them."""
        return self._rule(_watches(scope), Effect(stalls=True), None)

    def without_watch_list(self, scope: Scope = EVERYTHING) -> AbstractContextManager[Caused]:
        """Refuse streaming lists, as an older server does."""
        return self._rule(_watches(scope), Effect(no_watch_list=True), None)

    def drop_watches(self, scope: Scope = EVERYTHING, *, in_order: bool = False) -> int:
        """End open watches once."""
        return self._server.drop_watches(scope, in_order=in_order)

    def forget_history(self, resource: str = "") -> None:
        """Let no version seen so far be resumed from."""
        self._server.forget_history(resource)

    @contextmanager
    def short_history(self, changes: int) -> Iterator[None]:
        """Keep only so many changes per kind."""
        before = self._server.keep_history(changes)
        try:
            yield
        finally:
            if self._server.running:
                self._server.keep_history(before)

    def stale_lists(self, scope: Scope = EVERYTHING) -> AbstractContextManager[Caused]:
        """Show lists from version "0" as they are now."""
        lists = dataclasses.replace(scope, verbs=("list",))
        return self._rule(lists, Effect(stale=self._server.stored_version()), None)

    @contextmanager
    def unreachable(self, *, loses_objects: bool = False) -> Iterator[None]:
        """Refuse connections and reset the open ones."""
        self._server.close_port()
        if loses_objects:
            self._server.lose_objects()
        try:
            yield
        finally:
            if self._server.running:
                self._server.open_port()

    @contextmanager
    def gates(self, gates: Mapping[str, bool]) -> Iterator[None]:
        """Turn feature gates."""
        with self._as(self._server.version.with_gates(gates)):
            yield

    @contextmanager
    def serving(self, *versions: str) -> Iterator[None]:
        """Serve only these versions of resource.k8s.io."""
        with self._as(serving(self._server.version, versions)):
            yield

    @contextmanager
    def _as(self, version: KubernetesVersion) -> Iterator[None]:
        before = self._server.become(version)
        try:
            yield
        finally:
            if self._server.running:
                self._server.become(before)

    def _rule(
        self, scope: Scope, effect: Effect, times: int | None
    ) -> AbstractContextManager[Caused]:
        return self._server.rules.rule(scope, effect, times)


def _watches(scope: Scope) -> Scope:
    return dataclasses.replace(scope, verbs=("watch",))
