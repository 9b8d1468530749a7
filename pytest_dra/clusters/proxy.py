"""A recording proxy in front of a real kube-apiserver.

Drivers come in by plain HTTP with an identity in the path, as to the embedded server. What they
send goes on byte for byte, with the one token of an administrator who acts as them, so that the
server itself authenticates, authorizes and answers; and it stands on the timeline as it was sent.
An audit log would show objects after defaulting only, and later than the answer.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from pytest_dra.clusters.acting import HOP_BY_HOP
from pytest_dra.clusters.acting import acting
from pytest_dra.clusters.acting import kept
from pytest_dra.clusters.history import Forgotten
from pytest_dra.clusters.history import as_of
from pytest_dra.clusters.passing import Stream
from pytest_dra.clusters.recording import Asked
from pytest_dra.clusters.recording import Recorder
from pytest_dra.clusters.recording import asked
from pytest_dra.embedded import access
from pytest_dra.embedded import negotiation
from pytest_dra.embedded import replies
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.background import Background
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.flow import Flow
from pytest_dra.embedded.port import HOST
from pytest_dra.embedded.port import Port
from pytest_dra.embedded.port import cut
from pytest_dra.embedded.store import encode
from pytest_dra.embedded.trouble import EXPIRED
from pytest_dra.embedded.trouble import Effect
from pytest_dra.embedded.trouble import Rules
from pytest_dra.embedded.trouble import Scope
from pytest_dra.embedded.trouble import precede
from pytest_dra.embedded.trouble import timed_out
from pytest_dra.embedded.watch import frame
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline

_LOG: Final = logging.getLogger(__name__)

STOP_S: Final = 5.0
"""Longest wait for the thread to end; it takes milliseconds."""

ANSWER_S: Final = 70.0
"""Longest wait for an answer: a server gives up a request after 60 s."""

ANSWER_MAX: Final = 64 << 20
"""Bytes of an answer that are read; the suite's own client reads no more."""

CHUNK: Final = 1 << 16

NO_ANSWER: Final = 502
"""Nobody sees it: the connection has been reset before."""

_JSON: Final = {"Content-Type": negotiation.JSON}


class RecordingProxy:
    """See the module. What cases want of a server that misbehaves it does in the server's place.

    ``rules`` are in force on each request, ``forgotten`` says which versions nobody may ask for,
    ``upstream`` is where requests go; it may be set to another server of the same storage.

    Args:
        upstream: URL of the server.
        trust: believes in its certificate.
        token: of a user there who may act as anybody.
        admin: name of that user; requests with this identity are sent on without acting.
        tokens: who may come in.
        recorder: makes the entries of ``timeline``.
        limited: true for identities whose requests are held up where they are too many.
    """

    def __init__(
        self,
        upstream: str,
        *,
        trust: ssl.SSLContext,
        token: str,
        admin: str,
        tokens: Tokens,
        recorder: Recorder,
        timeline: Timeline,
        limited: Callable[[str], bool],
    ) -> None:
        self.url = ""
        self.upstream = upstream
        self._trust = trust
        self._token = token
        self._admin = admin
        self._tokens = tokens
        self._recorder = recorder
        self._timeline = timeline
        self._flow = Flow(limited)
        self._session: aiohttp.ClientSession | None = None
        self._background = Background(
            "the recording proxy", self._serve, name="dra-api-proxy", stop_s=STOP_S
        )
        self._streams: set[Stream] = set()
        self._port: Port | None = None
        self.rules = Rules()
        self.forgotten = Forgotten()

    def start(self) -> None:
        """Listen; ready when this returns.

        Raises:
            RuntimeError: it did not come up.
        """
        self._background.start()

    def stop(self) -> None:
        """End open watches and close the port, in bounded time; may be called twice."""
        self._background.stop()

    async def _serve(self) -> None:
        port = self._port = Port(
            web.Server(self._handle, handler_cancellation=True, access_log=None)
        )
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._trust),
            auto_decompress=False,
        )
        try:
            await port.open()
            self.url = f"http://{HOST}:{port.number}"
            await self._background.until_stopped()
            for stream in tuple(self._streams):
                if stream.task is not None:
                    stream.task.cancel()
        finally:
            await port.end()
            await self._session.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        began = time.perf_counter()
        try:
            what, user = await self._asked(request)
        except ApiError as error:
            return replies.respond(replies.failure(error))
        effect = self.rules.take(what.identity, what.verb, what.route) or Effect()
        refused = await self._refusal(what, effect)
        if refused is not None:
            return await self._refuse(request, what, refused, time.perf_counter() - began)
        try:
            return await self._passed_on(request, what, user, effect)
        except (aiohttp.ClientError, asyncio.TimeoutError) as error:
            self._timeline.add(
                Mark(text=f"no answer of kube-apiserver to this {what.verb}: {error}")
            )
            cut(request)
            return web.Response(status=NO_ANSWER)

    async def _asked(self, request: web.BaseRequest) -> tuple[Asked, User]:
        token, target = access.split_token(request.raw_path)
        if not target.startswith("/"):
            # Behind the server's address it could name another one, which would get the token.
            raise bad_request("the request target is no path")
        user = self._tokens.user(request.headers.get("Authorization"), token)
        await self._flow.take(user.shown)
        what = asked(
            request.method,
            target,
            identity=user.shown,
            body=await replies.read_body(request),
            headers=request.headers,
        )
        return what, user

    async def _refusal(self, what: Asked, effect: Effect) -> ApiError | None:
        """Why the request does not reach the server, if it does not."""
        try:
            await precede(effect, streams=what.watches and "sendInitialEvents" in what.target)
        except ApiError as error:
            return error
        return effect.refusal(what.route) if effect.code else self.forgotten.failure(what)

    async def _refuse(
        self, request: web.BaseRequest, what: Asked, why: ApiError, duration_s: float
    ) -> web.StreamResponse:
        begins = what.watches and why.code == EXPIRED
        status = encode(why.status())
        entry = self._recorder.request(
            what,
            code=200 if begins else why.code,
            answer=b"" if begins else status,
            media=negotiation.JSON,
            duration_s=duration_s,
        )
        self._timeline.add(entry)
        if not begins:
            return replies.respond(replies.failure(why))
        return web.Response(body=frame("ERROR", status), content_type=negotiation.JSON)

    async def _passed_on(
        self, request: web.BaseRequest, what: Asked, user: User, effect: Effect
    ) -> web.StreamResponse:
        if self._session is None:
            raise RuntimeError("the recording proxy is not running")
        began = time.perf_counter()
        target = what.target if effect.stale is None else as_of(what, effect.stale)
        async with self._session.request(
            what.method,
            URL(self.upstream + target, encoded=True),
            headers=acting(request.headers, user, token=self._token, admin=self._admin),
            data=what.body or None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(
                total=None if what.watches else ANSWER_S, sock_connect=ANSWER_S
            ),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        ) as answer:
            code, headers = answer.status, kept(answer.headers, HOP_BY_HOP)
            streams = what.watches and answer.ok
            text = b"" if streams else await _whole(answer)
            if effect.times_out and not streams:
                late = timed_out()
                code, text, headers = late.code, encode(late.status()), CIMultiDict(_JSON)
            if effect.after_s:
                await asyncio.sleep(effect.after_s)
            entry = self._recorder.request(
                what,
                code=code,
                answer=text,
                media=headers.get("Content-Type", ""),
                duration_s=time.perf_counter() - began,
            )
            self._timeline.add(entry)
            if effect.loses_answer:
                text_of_mark = f"the answer to this {what.verb} is lost on purpose"
                self._timeline.add(Mark(text=text_of_mark))
                cut(request)
            if not streams:
                return web.Response(status=code, headers=headers, body=text)
            return await self._stream(request, what, answer, effect.watch_s)

    async def _stream(
        self,
        request: web.BaseRequest,
        what: Asked,
        answer: aiohttp.ClientResponse,
        span_s: float | None,
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            status=answer.status, headers=kept(answer.headers, HOP_BY_HOP)
        )
        stream = Stream(
            identity=what.identity,
            route=what.route,
            request=request,
            stalled=lambda: self.rules.stalls(what.identity, what.route),
            span_s=span_s,
        )
        self._streams.add(stream)
        in_lines = answer.content_type == negotiation.JSON
        try:
            await response.prepare(request)
            async for block in stream.blocks(answer.content, in_lines=in_lines):
                await response.write(block)
            await response.write_eof()
        except ConnectionError:
            _LOG.debug("a watcher went away")
        finally:
            self._streams.discard(stream)
        return response

    # misbehaviour on request, from any thread

    def drop_watches(self, scope: Scope, *, in_order: bool = False) -> int:
        """End the open watches of a scope; see :class:`pytest_dra.clusters.protocol.Trouble`."""

        async def drop() -> int:
            found = [one for one in self._streams if scope.covers(one.identity, "watch", one.route)]
            for one in found:
                if in_order:
                    one.end()
                else:
                    one.cut()
            return len(found)

        return self._background.call(drop())

    def close_port(self) -> None:
        """Refuse and reset connections until :meth:`open_port`."""
        self._background.call(self._opened_port().close())

    def open_port(self) -> None:
        """Listen again, on the same port."""
        self._background.call(self._opened_port().open())

    @property
    def running(self) -> bool:
        """True from the start to the end."""
        return self._background.running

    def _opened_port(self) -> Port:
        if self._port is None:
            raise RuntimeError("the recording proxy is not running")
        return self._port


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in answer.content.iter_chunked(CHUNK):
        size += len(part)
        if size > ANSWER_MAX:
            raise aiohttp.ClientPayloadError(f"an answer of more than {ANSWER_MAX} bytes")
        parts.append(part)
    return b"".join(parts)
