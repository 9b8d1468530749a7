"""Playing the oracle's request scripts against a server, step by step."""

from __future__ import annotations

import base64
import contextlib
import gzip
import http.client
import json
import random
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.upstream import apiserver_script as language
from tests.upstream.apiserver_script import METHODS
from tests.upstream.apiserver_script import evaluate
from tests.upstream.apiserver_script import fill
from tests.upstream.apiserver_script import look

TIMEOUT_S: Final = 30.0
"""Longest answer; the slowest recorded ones wait 3 s for a version that does not come."""

AGENT: Final = "oracle-replay/1"
"""The User-Agent of the recordings: the name of a field manager comes from it."""

_WATCH_S: Final = 60.0
_COLLECT_S: Final = 3.0
_LINGER_S: Final = 0.15
"""Pause after the last event wanted, in which one too many would show."""

_SHOWN_HEADERS: Final = ("Retry-After", "Allow", "WWW-Authenticate")
_NOTES: Final = ("pick", "keep", "hide", "flaky")
_TEXT_MAX: Final = 200


class _Watch(threading.Thread):
    """An open watch whose events are gathered by a thread of its own."""

    def __init__(self, link: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        super().__init__(daemon=True)
        self._link = link
        self._answer = answer
        self._socket = link.sock
        self.events: list[Json] = []
        self.closed = False
        self._seen = 0
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            for line in self._answer:
                if line.strip():
                    self.events.append(json.loads(line))
        self.closed = True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.join(TIMEOUT_S)
        self._link.close()

    def collect(self, until: Json, timeout_s: float) -> list[Json]:
        """The events since the last time, as soon as there are those that are wanted."""

        def enough() -> bool:
            fresh = self._fresh(until)
            return (
                self.closed
                or len(fresh) >= until.get("count", len(fresh) + 1)
                or (bool(until.get("bookmark")) and _has(fresh, "BOOKMARK"))
                or (bool(until.get("error")) and _has(fresh, "ERROR"))
            )

        poll(enough, Deadline.after(timeout_s))
        if "count" in until:
            poll(lambda: None, Deadline.after(until.get("linger", _LINGER_S)))
        if until.get("error"):
            # an error is the last event; that the stream ends is seen a moment later
            poll(lambda: self.closed, Deadline.after(_LINGER_S))
        found = self._fresh(until)
        self._seen = len(self.events)
        return found

    def _fresh(self, until: Json) -> list[Json]:
        events = self.events[self._seen :]
        if "count" not in until:
            return events
        # the bookmarks of every minute may fall anywhere
        return [
            event
            for event in events
            if event["type"] != "BOOKMARK" or event["object"]["metadata"].get("annotations")
        ]


def _has(events: list[Json], kind: str) -> bool:
    return any(event["type"] == kind for event in events)


class Player:
    """Plays one script at one server.

    Args:
        url: where the server listens.
        tokens: bearer tokens by the names of the script.
        script: what is played.
        trust: what believes in the certificate of a server with TLS.
    """

    def __init__(
        self,
        url: str,
        tokens: Mapping[str, str],
        script: Json,
        *,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._host = urllib.parse.urlsplit(url).netloc
        self._trust = trust
        self._idle: list[http.client.HTTPConnection] = []
        self._tokens = tokens
        self._script = script
        self._bodies: Json = script.get("defs") or {}
        self._watches: dict[str, _Watch] = {}
        given = {"i": 0, **(script.get("vars") or {})}
        self._known: Json = {key: evaluate(part, given, {}) for key, part in given.items()}
        self.namespace = ("", "")
        if "ns" in self._known:
            plain = self._known["ns"]
            # not of the module's own generator, which Hypothesis seeds
            self._known["ns"] = f"{plain}-{random.SystemRandom().randrange(1 << 32):08x}"
            self.namespace = (self._known["ns"], plain)

    def play(self) -> list[Json]:
        """All steps; the records of those that are not silent, as they came."""
        self._make_namespace()
        records = []
        try:
            for step in language.steps(self._script):
                record = self._step(step)
                if record is not None and not step.get("silent"):
                    records.append(record)
        finally:
            for watch in self._watches.values():
                watch.close()
            for link in self._idle:
                link.close()
        return records

    def _link(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._trust is None:
            return http.client.HTTPConnection(self._host, timeout=timeout_s)
        return http.client.HTTPSConnection(self._host, timeout=timeout_s, context=self._trust)

    def _read(self, link: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> bytes:
        """The whole answer; a connection with TLS serves again, a plain one costs nothing."""
        data = answer.read()
        if self._trust is None or answer.will_close:
            link.close()
        else:
            self._idle.append(link)
        return data

    def _make_namespace(self) -> None:
        if not self.namespace[0] or not self._script.get("makeNamespace", True):
            return
        meta = {"name": self.namespace[0], "labels": self._script.get("nsLabels") or {}}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
        self._send({"POST": "nss", "body": body}, "POST", "nss")
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        path = "core/serviceaccounts"
        self._send({"POST": path, "body": account}, "POST", path)

    def _step(self, step: Json) -> Json | None:
        for method in METHODS:
            if method in step:
                return self._request(step, method)
        if "watch" in step:
            return self._open_watch(step)
        if "collect" in step:
            return self._collect(step)
        if "close" in step:
            watch = self._watches.pop(step["close"], None)
            if watch is not None:
                watch.close()
        elif "sleep" in step:
            poll(lambda: None, Deadline.after(step["sleep"]))
        else:
            raise ValueError(f"step {step}: nothing to do")
        return None

    def _collect(self, step: Json) -> Json:
        watch = self._watches.get(step["collect"])
        if watch is None:
            # a drawn script collects what may have been refused
            return {"id": step["id"], "collect": step["collect"], "events": []}
        events = watch.collect(step.get("until") or {}, step.get("timeout", _COLLECT_S))
        if events:
            self._save(step, events[-1])
        record = {"id": step["id"], "collect": step["collect"], "closed": watch.closed}
        return {**record, "events": events, **_notes(step)}

    def _save(self, step: Json, body: Any) -> None:
        for name, path in (step.get("save") or {}).items():
            self._known[name] = look(body, path)

    def _path(self, path: str) -> str:
        head, slash, rest = str(fill(path, self._known)).partition("/")
        short = language.SHORT_PATHS.get(head)
        return str(
            fill(head + slash + rest if short is None else short + slash + rest, self._known)
        )

    def _headers(self, step: Json) -> dict[str, str | None]:
        who = str(fill(str(step.get("as", "admin")), self._known))
        headers: dict[str, str | None] = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": AGENT,
        }
        if who != "nobody":
            headers["Authorization"] = f"Bearer {self._tokens.get(who, who)}"
        for name, value in (step.get("headers") or {}).items():
            given = None if value is None else str(evaluate(value, self._known, self._bodies))
            headers[name] = given
        return headers

    def _body(self, step: Json) -> bytes | None:
        if "body" not in step:
            return None
        body = step["body"]
        form = next(iter(body)) if isinstance(body, dict) and len(body) == 1 else ""
        if form == "$bytes":
            return base64.b64decode(fill(body[form], self._known))
        if form == "$text":
            return str(evaluate(body[form], self._known, self._bodies)).encode()
        if form == "$proto":
            return base64.b64decode(self._known[body[form]])
        made = evaluate(body, self._known, self._bodies)
        return json.dumps(made, separators=(",", ":")).encode()

    def _send(
        self, step: Json, method: str, path: str, query: Json | None = None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers, data = self._headers(step), self._body(step)
        if query:
            # the real server compresses watches, too; their events are read line by line
            headers["Accept-Encoding"] = "identity"
        if data is not None and "Content-Type" not in headers:
            merge = method == "PATCH"
            headers["Content-Type"] = f"application/{'merge-patch+' if merge else ''}json"
        pairs = [
            (name, str(evaluate(item, self._known, self._bodies)))
            for name, value in {**(query or {}), **(step.get("query") or {})}.items()
            for item in (value if isinstance(value, list) else [value])
        ]
        where = self._path(path)
        if pairs:
            where += ("&" if "?" in where else "?") + urllib.parse.urlencode(pairs)
        if query or not self._idle:
            link = self._link(_WATCH_S if query else TIMEOUT_S)
        else:
            link = self._idle.pop()
        sent = {name: value for name, value in headers.items() if value is not None}
        link.request(method, urllib.parse.quote(where, safe="/?&=%+:~,!*'()-._@$;"), data, sent)
        return link, link.getresponse()

    def _request(self, step: Json, method: str) -> Json:
        wanted = step.get("retry")
        until = Deadline.after(step.get("retryFor", 10.0) if wanted else 0.0)

        def attempt() -> tuple[http.client.HTTPResponse, bytes] | None:
            link, answer = self._send(step, method, step[method])
            data = self._read(link, answer)
            if answer.getheader("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            return (answer, data) if not wanted or answer.status == wanted or until.passed else None

        found = poll(attempt, Deadline.after(until.span_s + TIMEOUT_S), every_s=0.2)
        assert found is not None, step
        return self._recorded(step, method, *found)

    def _recorded(
        self, step: Json, method: str, answer: http.client.HTTPResponse, data: bytes
    ) -> Json:
        media = answer.getheader("Content-Type", "")
        asked = {"method": method, "path": step[method]}
        asked |= {key: step[key] for key in ("query", "headers", "as") if key in step}
        record: Json = {"id": step.get("id"), "req": asked, "code": answer.status, "type": media}
        warnings = answer.headers.get_all("Warning")
        if warnings:
            record["warnings"] = ", ".join(warnings)
        shown = step.get("show") or _SHOWN_HEADERS
        headers = {name: answer.getheader(name) for name in shown if answer.getheader(name)}
        if headers:
            record["headers"] = headers
        if "json" in media and data:
            record["body"] = json.loads(data)
            self._save(step, record["body"])
        elif "protobuf" in media:
            record["body"] = {"protobuf": data[:4] == b"k8s\0"}
            if step.get("saveBytes"):
                self._known[step["saveBytes"]] = base64.b64encode(data).decode()
        else:
            record["body"] = {"text": data.decode("utf-8", "replace").strip()[:_TEXT_MAX]}
        if step.get("size"):
            record["size"] = len(data)
        return {**record, **_notes(step)}

    def _open_watch(self, step: Json) -> Json:
        link, answer = self._send(step, "GET", step["path"], {"watch": "true"})
        media = answer.getheader("Content-Type", "")
        asked = {"watch": step["watch"], "path": step["path"], "query": step.get("query") or {}}
        record: Json = {"id": step["id"], "req": asked, "code": answer.status, "type": media}
        if answer.status == http.client.OK:
            self._watches[step["watch"]] = _Watch(link, answer)
        else:
            data = self._read(link, answer)
            record["body"] = (
                json.loads(data) if "json" in media else {"text": data.decode()[:_TEXT_MAX]}
            )
        return {**record, **_notes(step)}


def _notes(step: Json) -> Json:
    return {f"_{name}": step[name] for name in _NOTES if name in step}
