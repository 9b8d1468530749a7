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
import threading
import time
from collections.abc import Callable
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from pytest_dra.clusters.recording import Asked
from pytest_dra.clusters.recording import Recorder
from pytest_dra.clusters.recording import asked
from pytest_dra.embedded import access
from pytest_dra.embedded import replies
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.flow import Flow
from pytest_dra.embedded.port import HOST
from pytest_dra.embedded.port import Port
from pytest_dra.embedded.port import reset
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline

_LOG: Final = logging.getLogger(__name__)

START_S: Final = 10.0
STOP_S: Final = 5.0
"""Longest waits for the thread to listen and to end; both take milliseconds."""

ANSWER_S: Final = 70.0
"""Longest wait for an answer: a server gives up a request after 60 s."""

ANSWER_MAX: Final = 64 << 20
"""Bytes of an answer that are read; the suite's own client reads no more."""

CHUNK: Final = 1 << 16

NO_ANSWER: Final = 502
"""Nobody sees it: the connection has been reset before."""

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "content-encoding",
    }
)
"""Headers of one connection, and those that are made anew."""

NOT_SENT_ON: Final = HOP_BY_HOP - {"content-encoding"} | {
    "host",
    "authorization",
    "accept-encoding",
}


class RecordingProxy:
    """See the module.

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
        self._upstream = upstream
        self._trust = trust
        self._token = token
        self._admin = admin
        self._tokens = tokens
        self._recorder = recorder
        self._timeline = timeline
        self._flow = Flow(limited)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._streams: set[asyncio.Task[object]] = set()

    def start(self) -> None:
        """Listen; ready when this returns.

        Raises:
            RuntimeError: it did not come up.
        """
        self._thread = threading.Thread(target=self._run, name="dra-api-proxy", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_S) or self._failure is not None:
            raise RuntimeError(f"the recording proxy did not start: {self._failure}")

    def stop(self) -> None:
        """End open watches and close the port, in bounded time; may be called twice."""
        loop, ended, thread = self._loop, self._ended, self._thread
        if thread is None:
            return
        if loop is not None and ended is not None and thread.is_alive():
            try:
                loop.call_soon_threadsafe(ended.set)
            except RuntimeError:
                _LOG.debug("the loop has ended by itself")
        thread.join(STOP_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:
            self._failure = error
            _LOG.exception("the recording proxy failed")
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        port = Port(web.Server(self._handle, handler_cancellation=True, access_log=None))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._trust),
            auto_decompress=False,
        )
        try:
            await port.open()
            self.url = f"http://{HOST}:{port.number}"
            self._ready.set()
            await self._ended.wait()
            for task in tuple(self._streams):
                task.cancel()
        finally:
            await port.end()
            await self._session.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        token, target = access.split_token(request.raw_path)
        try:
            if not target.startswith("/"):
                # Behind the server's address it could name another one, which would get the token.
                raise bad_request("the request target is no path")
            user = self._tokens.user(request.headers.get("Authorization"), token)
            await self._flow.take(user.name)
            what = asked(
                request.method,
                target,
                identity=user.name,
                body=await replies.read_body(request),
                headers=request.headers,
            )
        except ApiError as error:
            return replies.respond(replies.failure(error))
        try:
            return await self._passed_on(request, what, user)
        except (aiohttp.ClientError, asyncio.TimeoutError) as error:
            self._timeline.add(
                Mark(text=f"no answer of kube-apiserver to this {what.verb}: {error}")
            )
            if request.transport is not None:
                reset(request.transport)
            return web.Response(status=NO_ANSWER)

    async def _passed_on(
        self, request: web.BaseRequest, what: Asked, user: User
    ) -> web.StreamResponse:
        if self._session is None:
            raise RuntimeError("the recording proxy is not running")
        began = time.perf_counter()
        total = None if what.watches else ANSWER_S
        async with self._session.request(
            what.method,
            URL(self._upstream + what.target, encoded=True),
            headers=self._headers(request, user),
            data=what.body or None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=total, sock_connect=ANSWER_S),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        ) as answer:
            streams = what.watches and answer.ok
            text = b"" if streams else await _whole(answer)
            entry = self._recorder.request(
                what,
                code=answer.status,
                answer=text,
                media=answer.headers.get("Content-Type", ""),
                duration_s=time.perf_counter() - began,
            )
            self._timeline.add(entry)
            headers = _kept(answer.headers, HOP_BY_HOP)
            if not streams:
                return web.Response(status=answer.status, headers=headers, body=text)
            return await self._stream(request, answer, headers)

    async def _stream(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, headers: CIMultiDict[str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=headers)
        task = asyncio.current_task()
        if task is not None:
            self._streams.add(task)
        try:
            await response.prepare(request)
            async for block in answer.content.iter_any():
                await response.write(block)
            await response.write_eof()
        except ConnectionError:
            _LOG.debug("a watcher went away")
        finally:
            if task is not None:
                self._streams.discard(task)
        return response

    def _headers(self, request: web.BaseRequest, user: User) -> CIMultiDict[str]:
        """The client's own, with the identity that the server is to see."""
        headers = _kept(request.headers, NOT_SENT_ON)
        headers["Accept-Encoding"] = "identity"
        if "Accept" in headers:
            headers["Accept"] = _readable(headers["Accept"])
        if user is access.ANONYMOUS:
            return headers
        headers["Authorization"] = f"Bearer {self._token}"
        if user.name == self._admin:
            return headers
        for name in [each for each in headers if each.lower().startswith("impersonate-")]:
            headers.popall(name, None)
        headers["Impersonate-User"] = user.name
        for group in user.groups:
            headers.add("Impersonate-Group", group)
        for key, values in user.extra.items():
            for value in values:
                headers.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
        return headers


def _kept(headers: Mapping[str, str], dropped: frozenset[str]) -> CIMultiDict[str]:
    found: CIMultiDict[str] = CIMultiDict()
    for key, value in headers.items():
        if key.lower() not in dropped:
            found.add(key, value)
    return found


def _readable(accept: str) -> str:
    """Without protobuf, where the client takes JSON as well: the answer is to be read here, too."""
    parts = [each for each in accept.split(",") if PROTOBUF not in each]
    return ",".join(parts) if parts else accept


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in answer.content.iter_chunked(CHUNK):
        size += len(part)
        if size > ANSWER_MAX:
            raise aiohttp.ClientPayloadError(f"an answer of more than {ANSWER_MAX} bytes")
        parts.append(part)
    return b"".join(parts)
