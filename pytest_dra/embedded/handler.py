"""From an HTTP request to an answer: identity, route, verb, recording."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from typing import Final

from aiohttp import web

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import access
from pytest_dra.embedded import negotiation
from pytest_dra.embedded import replies
from pytest_dra.embedded import routing
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import Authorizer
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.discovery import REVIEWS
from pytest_dra.embedded.discovery import Discovery
from pytest_dra.embedded.documents import Documents
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import PlainNotFound
from pytest_dra.embedded.errors import unknown_resource
from pytest_dra.embedded.flow import Flow
from pytest_dra.embedded.negotiation import JSON
from pytest_dra.embedded.negotiation import YAML
from pytest_dra.embedded.operations import WARNINGS_MAX
from pytest_dra.embedded.operations import Call
from pytest_dra.embedded.operations import Kinds
from pytest_dra.embedded.operations import Operations
from pytest_dra.embedded.operations import Reply
from pytest_dra.embedded.port import cut
from pytest_dra.embedded.rbac import Rbac
from pytest_dra.embedded.recorded import Lazy
from pytest_dra.embedded.recorded import entry
from pytest_dra.embedded.reviews import Question
from pytest_dra.embedded.reviews import Reviews
from pytest_dra.embedded.routing import Route
from pytest_dra.embedded.trouble import EXPIRED
from pytest_dra.embedded.trouble import Effect
from pytest_dra.embedded.trouble import Rules
from pytest_dra.embedded.trouble import Scope
from pytest_dra.embedded.trouble import precede
from pytest_dra.embedded.trouble import timed_out
from pytest_dra.embedded.watch import Watch
from pytest_dra.spec import Json
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline

_LOG: Final = logging.getLogger(__name__)

NAMED_SINCE: Final = 37
"""From 1.37 on a refusal names the authorizer that had something to say."""


@dataclasses.dataclass(slots=True)
class _Record:
    """What becomes an :class:`ApiRequest`, filled in as the request goes on."""

    identity: str = ""
    verb: str = ""
    route: Route = dataclasses.field(default_factory=Route)
    body: Json | Lazy | None = None
    answer: Json | Lazy | None = None
    effect: Effect | None = None
    failure: ApiError | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """An open watch: whose it is, and what ends it."""

    identity: str
    route: Route
    watch: Watch
    request: web.BaseRequest
    task: asyncio.Task[object] | None


class Handler:
    """Answers every request of one server."""

    def __init__(
        self,
        *,
        operations: Operations,
        discovery: Discovery,
        tokens: Tokens,
        authorize: Authorizer,
        rules: Rbac | None,
        timeline: Timeline,
        flow: Flow,
    ) -> None:
        self._operations = operations
        self._flow = flow
        self._discovery = discovery
        self._documents = Documents(discovery, operations.kinds)
        self._reviews = Reviews(authorize, tokens, rules)
        self._tokens = tokens
        self._authorize = authorize
        self._rules = rules
        self._timeline = timeline
        self._watches: set[_Open] = set()
        self.rules = Rules()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Handle one request; never raises but for a client that went away."""
        began = time.perf_counter()
        record = _Record()
        try:
            reply = await self._reply(request, record)
        except ApiError as error:
            reply = replies.failure(error)
        except PlainNotFound:
            reply = Reply(404, None, b"404 page not found\n", media=replies.TEXT)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            _LOG.exception("%s %s", request.method, request.path)
            reply = replies.failure(
                ApiError(500, "InternalError", f"Internal error occurred: {error!r}")
            )
        effect = record.effect
        if effect is not None and effect.times_out and reply.watch is None:
            reply = replies.failure(timed_out())
        record.answer = reply.answer
        if effect is not None and effect.after_s:
            await asyncio.sleep(effect.after_s)
        self._record(request, record, reply.code, time.perf_counter() - began)
        if effect is not None and effect.loses_answer:
            self._timeline.add(Mark(text=f"the answer to this {record.verb} is lost on purpose"))
            cut(request)
        if reply.watch is not None:
            return await self._stream(request, record, reply.watch)
        return replies.respond(reply)

    async def _reply(self, request: web.BaseRequest, record: _Record) -> Reply:
        token, path = access.split_token(request.path)
        record.route = Route(name=path)
        record.verb = request.method.lower()
        user = self._tokens.user(request.headers.get("Authorization"), token)
        user = access.impersonated(user, request.headers, self._authorize)
        record.identity = user.shown
        await self._flow.take(user.shown)
        parts = routing.split(path)
        route = routing.resource_path(parts)
        if route is None:
            await self._trouble(request, record)
            return self._other(request, path, parts, user)
        record.route = route
        watching = request.method == "GET" and _wants_watch(request, route)
        record.verb = _verb(route, request.method, watching=watching)
        await self._trouble(request, record)
        self._authorize_route(record, user, request.query.get("fieldSelector", ""))
        if not self._discovery.has_group(route.group):
            raise PlainNotFound
        if not self._discovery.has_version(route.group, route.version):
            raise unknown_resource()
        if route.group in REVIEWS:
            return await self._review(request, route, user)
        return await self._perform(request, record, user, watching=watching)

    async def _review(self, request: web.BaseRequest, route: Route, user: User) -> Reply:
        """Questions about identity and access, which are not stored."""
        question = Question(
            user=user,
            route=route,
            method=request.method,
            body=await replies.read_body(request) if request.body_exists else b"",
            media=request.headers.get("Content-Type", ""),
            minor=self._operations.version.minor,
        )
        return self._reviews.answer(question)

    async def _perform(
        self, request: web.BaseRequest, record: _Record, user: User, *, watching: bool
    ) -> Reply:
        route = record.route = routing.find(record.route, self._operations.kinds)
        verb = record.verb = routing.verb(route, request.method, watch=watching)
        media = negotiation.accept(request.headers.get("Accept", ""))
        call = Call(
            route=route,
            verb=verb,
            query=request.query,
            media=media,
            content_type=request.headers.get("Content-Type", ""),
            body=await replies.read_body(request) if request.body_exists else b"",
            user_agent=request.headers.get("User-Agent", ""),
            user=user,
            stale=record.effect.stale if record.effect else None,
        )
        try:
            reply = await self._operations.perform(call)
        except ApiError as error:
            reply = dataclasses.replace(
                replies.failure(error), warnings=tuple(call.warnings[:WARNINGS_MAX])
            )
        finally:
            record.body = call.recorded()
        if route.kind is not None and route.kind.deprecated:
            reply = dataclasses.replace(reply, warnings=(route.kind.deprecated, *reply.warnings))
        return replies.in_yaml(reply) if media.type == YAML and reply.watch is None else reply

    async def _trouble(self, request: web.BaseRequest, record: _Record) -> None:
        """What a test wants to happen to the request, as far as it comes before the request.

        Raises:
            ApiError: the request is refused.
        """
        effect = record.effect = self.rules.take(record.identity, record.verb, record.route)
        if effect is None:
            return
        streams = record.verb == "watch" and "sendInitialEvents" in request.query
        await precede(effect, streams=streams)
        if not effect.code:
            return
        if request.body_exists:
            media = request.headers.get("Content-Type", "")
            record.body = self._operations.peek(
                record.route, media, await replies.read_body(request)
            )
        failure = effect.refusal(record.route)
        if record.verb != "watch" or effect.code != EXPIRED:
            raise failure
        record.failure = failure

    def _authorize_route(self, record: _Record, user: User, fields: str) -> None:
        route = record.route
        self._allow(
            Attempt(
                user=user,
                verb=record.verb,
                group=route.group,
                resource=route.plural,
                subresource=route.subresource,
                namespace=route.namespace or "",
                name=route.name or routing.named_in(fields),
                fields=fields,
            )
        )

    def _allow(self, attempt: Attempt) -> None:
        if not self._authorize(attempt):
            raise access.refused(attempt, self._why_not(attempt))

    def _why_not(self, attempt: Attempt) -> str:
        """What the authorizers add to a refusal, each behind its name in newer releases."""
        if self._rules is None:
            return ""
        named = self._operations.version.minor >= NAMED_SINCE
        said = (("node", self._rules.node_why_not(attempt)), ("rbac", self._rules.why_not(attempt)))
        return "\n".join(f"{name}: {text}" if named else text for name, text in said if text)

    def _other(self, request: web.BaseRequest, path: str, parts: list[str], user: User) -> Reply:
        discovery = parts[0] in ("api", "apis") and user is not access.ANONYMOUS
        if not path.startswith(access.OPEN_PATHS) and (self._rules or not discovery):
            self._allow(Attempt(user=user, verb=request.method.lower(), path=path))
        return self._documents.reply(request, parts)

    def _record(
        self, request: web.BaseRequest, record: _Record, code: int, duration_s: float
    ) -> None:
        self._timeline.add(
            entry(
                record.route,
                identity=record.identity,
                verb=record.verb,
                query=request.query_string,
                headers=request.headers,
                body=record.body,
                code=code,
                answer=record.answer,
                duration_s=duration_s,
            )
        )

    async def _stream(
        self, request: web.BaseRequest, record: _Record, watch: Watch
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"}
        )
        route, identity = record.route, record.identity
        watch.stalled = lambda: self.rules.stalls(identity, route)
        if record.effect is not None:
            watch.shorten(record.effect.watch_s)
        if record.failure is not None:
            watch.fail(record.failure)
        opened = _Open(identity, route, watch, request, asyncio.current_task())
        self._watches.add(opened)
        try:
            await response.prepare(request)
            async for block in watch.frames():
                await response.write(block)
            await response.write_eof()
        except ConnectionError:
            _LOG.debug("a watcher went away")
        finally:
            watch.close()
            self._watches.discard(opened)
        return response

    def cancel_watches(self) -> None:
        """End every open watch at once."""
        for found in tuple(self._watches):
            if found.task is not None:
                found.task.cancel()

    def drop_watches(self, scope: Scope, *, in_order: bool) -> int:
        """End the open watches of a scope, in order or by a reset; returns their number."""
        found = [one for one in self._watches if scope.covers(one.identity, "watch", one.route)]
        for one in found:
            if in_order:
                one.watch.end()
            else:
                cut(one.request)
        return len(found)

    @property
    def kinds(self) -> Kinds:
        """The kinds that are served now."""
        return self._operations.kinds

    def become(self, version: KubernetesVersion, kinds: Kinds) -> None:
        """Answer from now on as this version with these kinds; objects and watches stay."""
        self._operations.become(version, kinds)
        self._discovery = Discovery(version, kinds)
        self._documents = Documents(self._discovery, kinds)


def _verb(route: Route, method: str, *, watching: bool) -> str:
    try:
        return routing.verb(dataclasses.replace(route, kind=None), method, watch=watching)
    except (ApiError, KeyError):
        return method.lower()


def _wants_watch(request: web.BaseRequest, route: Route) -> bool:
    if route.watch:
        return True
    value = request.query.get("watch")
    return value is not None and value.lower() not in ("0", "false")
