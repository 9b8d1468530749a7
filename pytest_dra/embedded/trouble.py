"""Misbehaviour on request: what a test asks the server to do to the requests of one client.

Rules are set by the test's thread and read by the server's loop. Each is limited to a
:class:`Scope` and, where wanted, to a number of requests; what it did is counted by its
:class:`Caused`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.errors import invalid_options
from pytest_dra.embedded.routing import Route

HELD_LOOK_S: Final = 0.005
"""Pause between two looks whether a held request may go on: hardly later than it was allowed to."""

_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""The reason that the API server gives with each code."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which requests are meant; what is empty does not restrict.

    ``identity`` is a user name as it stands on the timeline, ``verbs`` are Kubernetes verbs
    (``get``, ``list``, ``watch``, ``create`` ...), ``resource`` is a plural, ``name`` one object.
    """

    identity: str = ""
    verbs: tuple[str, ...] = ()
    resource: str = ""
    name: str = ""

    def covers(self, identity: str, verb: str, route: Route) -> bool:
        """True if a request is meant."""
        return (
            self.identity in ("", identity)
            and (not self.verbs or verb in self.verbs)
            and self.resource in ("", route.plural)
            and self.name in ("", route.name)
        )


EVERYTHING: Final = Scope()
"""All requests, those of the suite included: rarely what a case wants."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What is done to a request, as far as set.

    ``code`` refuses it (with ``retry_after_s`` as header and in the Status). ``before_s`` is waited
    before it is carried out, then for each of ``holds`` to be set; ``after_s`` between that and the
    answer. ``loses_answer``: it is carried out, but the connection ends instead of an answer.
    ``times_out``: it is carried out, but answered 504. ``watch_s``: a watch ends in order after
    that time. ``no_watch_list``: a streaming list is refused as on a server without. ``stalls``: a
    watch stays open, but is told nothing while the rule lasts. ``stale``: a list from version "0",
    which may be any, answers as of this one.
    """

    code: int = 0
    retry_after_s: int | None = None
    before_s: float = 0.0
    holds: tuple[threading.Event, ...] = ()
    after_s: float = 0.0
    loses_answer: bool = False
    times_out: bool = False
    watch_s: float | None = None
    no_watch_list: bool = False
    stalls: bool = False
    stale: int | None = None

    def refusal(self, route: Route) -> ApiError:
        """The failure that answers the request."""
        shown = {
            "name": route.name,
            "group": route.group,
            "kind": route.plural,
            "retryAfterSeconds": self.retry_after_s,
        }
        return ApiError(
            self.code,
            _REASONS.get(self.code, "Unknown"),
            f"pytest-dra answers {self.code} on purpose",
            details={key: value for key, value in shown.items() if value},
            retry_after_s=self.retry_after_s,
        )


async def released(holds: tuple[threading.Event, ...]) -> None:
    """Wait for all of them; looked at now and then, as a loop cannot wait for a thread's event."""
    while not all(each.is_set() for each in holds):
        await asyncio.sleep(HELD_LOOK_S)


class Caused:
    """What a rule has done so far; may be read from any thread, and after its end."""

    def __init__(self) -> None:
        self._requests = 0

    @property
    def requests(self) -> int:
        """How many requests were affected."""
        return self._requests

    def count(self) -> None:
        """One more; called under the lock of :class:`Rules`."""
        self._requests += 1


@dataclasses.dataclass(slots=True, eq=False)
class _Rule:
    scope: Scope
    effect: Effect
    left: int | None
    caused: Caused


class Rules:
    """The rules in force on one server; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[_Rule] = []

    @contextmanager
    def rule(self, scope: Scope, effect: Effect, times: int | None) -> Iterator[Caused]:
        """Keep a rule in force; ``times`` limits how many requests it affects."""
        rule = _Rule(scope, effect, times, Caused())
        with self._lock:
            self._rules.append(rule)
        try:
            yield rule.caused
        finally:
            with self._lock:
                self._rules.remove(rule)

    def take(self, identity: str, verb: str, route: Route) -> Effect | None:
        """What happens to a request: the effects of all rules that cover it, None for nothing.

        Each of them has been counted; of two refusals the older rule wins.
        """
        if not self._rules:
            return None
        found: Effect | None = None
        with self._lock:
            for rule in self._rules:
                if rule.left == 0 or not rule.scope.covers(identity, verb, route):
                    continue
                if rule.left is not None:
                    rule.left -= 1
                rule.caused.count()
                found = rule.effect if found is None else _both(found, rule.effect)
        return found

    def stalls(self, identity: str, route: Route) -> bool:
        """True while an open watch is to be told nothing."""
        if not self._rules:
            return False
        with self._lock:
            return any(
                rule.effect.stalls and rule.scope.covers(identity, "watch", route)
                for rule in self._rules
            )


def _both(first: Effect, second: Effect) -> Effect:
    refusing = first if first.code else second
    spans = [span for span in (first.watch_s, second.watch_s) if span is not None]
    return Effect(
        code=refusing.code,
        retry_after_s=refusing.retry_after_s,
        before_s=first.before_s + second.before_s,
        holds=first.holds + second.holds,
        after_s=first.after_s + second.after_s,
        loses_answer=first.loses_answer or second.loses_answer,
        times_out=first.times_out or second.times_out,
        watch_s=min(spans, default=None),
        no_watch_list=first.no_watch_list or second.no_watch_list,
        stalls=first.stalls or second.stalls,
        stale=first.stale if first.stale is not None else second.stale,
    )


def timed_out() -> ApiError:
    """504 for a request that took too long, whatever has become of it."""
    return ApiError(
        504,
        "Timeout",
        "Timeout: request did not complete within the allotted timeout",
        details={},
    )


def no_watch_list() -> ApiError:
    """422 for a streaming list, as a server without that feature answers it."""
    why = "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList gate is enabled"
    return invalid_options("ListOptions", [Cause("sendInitialEvents", "FieldValueForbidden", why)])
