"""The API server: plain objects over an HTTP pool (see ``server``).

The models of the ``kubernetes`` client are not used: they lose fields that they do not know. What
asks is imported late, so that the sockets do not wait for it.
"""

from __future__ import annotations

import json
import logging
import threading
import urllib.parse
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import ClaimGoneError
from pytest_dra.fake_driver.server import Server
from pytest_dra.fake_driver.server import find

BODY_MAX: Final = 64 << 20
"""Bytes of an answer that are read: lists of slices are the largest."""

LINE_MAX: Final = 4 << 20
"""Bytes of one watch event: above the API server's own limit for an object."""

CONNECT_S: Final = 5.0
"""Longest wait for a TCP connection."""

REQUEST_S: Final = 30.0
"""Longest wait for an answer where the caller sets no other."""

WATCH_MARGIN_S: Final = 15.0
"""How much longer than the agreed end of a watch we listen."""

CHUNK: Final = 1 << 16
"""Bytes asked of a watch stream at a time; chunks come as the server sends them."""

PAGE: Final = "500"
"""Objects of one page of a list."""

RESOURCE_API: Final = "/apis/resource.k8s.io/v1"
SLICES: Final = f"{RESOURCE_API}/resourceslices"

GONE: Final = 410
CONFLICT: Final = 409
INVALID: Final = 422
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404

REFUSED: Final = 300
"""From this status on an answer is no success; redirects are not followed."""

_log = logging.getLogger(__name__)


class ApiError(Exception):
    """The API server did not do what was asked. ``status`` 0: it could not be asked."""

    def __init__(self, status: int, message: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


class ApiServer:
    """Requests with plain objects; safe to use from several threads."""

    def __init__(self, kubeconfig: Path | None) -> None:
        self.kubeconfig = kubeconfig
        self._lock = threading.Lock()
        self._server: Server | None = None

    def connect(self) -> Server:
        """Read the configuration; StartError if it is not usable. Does not contact the server."""
        with self._lock:
            if self._server is None:
                self._server = find(self.kubeconfig)
            return self._server

    def _open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        timeout_s: float = REQUEST_S,
    ) -> Any:
        """Send a request; the answer's body is still to be read."""
        server = self.connect()
        import urllib3

        url = server.url + path
        if query:
            url += "?" + urllib.parse.urlencode(query)
        wanted: dict[str, Any] = {
            "body": None if body is None else json.dumps(body).encode(),
            "headers": _headers(server, method, body),
            "timeout": urllib3.Timeout(connect=min(CONNECT_S, timeout_s), read=timeout_s),
            "retries": False,
            "preload_content": False,
        }
        send = server.pool.request
        try:
            try:
                answer = send(method, url, **wanted)
            except urllib3.exceptions.ProtocolError:
                # The server may have closed an idle connection at the moment when we took it.
                if method != "GET":
                    raise
                answer = send(method, url, **wanted)
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(0, f"{method} {path}: {error}") from error
        if answer.status >= REFUSED:
            raise _refusal(f"{method} {path}", answer)
        return answer

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        timeout_s: float = REQUEST_S,
    ) -> dict[str, Any]:
        """Send a request and read the object that it answers; ApiError if there is none."""
        answer = self._open(method, path, query=query, body=body, timeout_s=timeout_s)
        try:
            value = json.loads(_read(answer))
        except ValueError as error:
            raise ApiError(0, f"{method} {path}: the answer is no JSON: {error}") from error
        if not isinstance(value, dict):
            raise ApiError(0, f"{method} {path}: the answer is no object")
        return value

    def watch(
        self, path: str, query: Mapping[str, str], *, timeout_s: float
    ) -> Iterator[dict[str, Any]]:
        """The events of a watch until the server ends it; ApiError if it breaks."""
        asked = {**query, "watch": "true", "timeoutSeconds": str(int(timeout_s))}
        answer = self._open("GET", path, query=asked, timeout_s=timeout_s + WATCH_MARGIN_S)
        import urllib3

        rest = b""
        try:
            for chunk in answer.stream(CHUNK):
                rest += chunk
                *lines, rest = rest.split(b"\n")
                if len(rest) > LINE_MAX:
                    raise ApiError(0, f"watch {path}: an event of more than {LINE_MAX} bytes")
                for line in lines:
                    if line.strip():
                        yield _event(line)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ApiError(0, f"watch {path}: {error}") from error
        finally:
            answer.close()

    def get_claim(self, namespace: str, name: str, *, timeout_s: float) -> dict[str, Any]:
        """GET a ResourceClaim; ClaimError if it cannot be had."""
        try:
            return self.read_claim(namespace, name, timeout_s=timeout_s)
        except ApiError as error:
            kind = ClaimGoneError if error.status == NOT_FOUND else ClaimError
            raise kind(f"claim {namespace}/{name} cannot be read: {error}") from error

    def read_claim(
        self, namespace: str, name: str, *, timeout_s: float, api: str = RESOURCE_API
    ) -> dict[str, Any]:
        """GET a ResourceClaim under one version of the API; ApiError if it cannot be had."""
        return self.request("GET", claim_path(namespace, name, api=api), timeout_s=timeout_s)

    def node_uid(self, name: str) -> str | None:
        """The UID of a Node, None if there is none or we may not look."""
        try:
            node = self.request("GET", f"/api/v1/nodes/{_part(name)}")
        except ApiError as error:
            if error.status in (NOT_FOUND, FORBIDDEN):
                _log.warning("no owner for the slices: %s", error)
                return None
            raise
        return str((node.get("metadata") or {}).get("uid") or "") or None


def list_all(
    api: ApiServer,
    path: str,
    query: Mapping[str, str] | None = None,
    *,
    timeout_s: float = REQUEST_S,
) -> tuple[list[dict[str, Any]], str]:
    """All objects of a kind, asked for page by page, and the list's resource version.

    Raises:
        ApiError: a page cannot be had.
        TypeError, AttributeError: it is something else than a list.
    """
    asked = {**(query or {}), "limit": PAGE}
    found: list[dict[str, Any]] = []
    while True:
        page = api.request("GET", path, query=asked, timeout_s=timeout_s)
        found += page.get("items") or []
        meta = page.get("metadata") or {}
        if not meta.get("continue"):
            return found, str(meta.get("resourceVersion") or "")
        asked["continue"] = str(meta["continue"])


def claim_path(namespace: str, name: str, *, api: str = RESOURCE_API) -> str:
    """The path of a ResourceClaim."""
    return f"{api}/namespaces/{_part(namespace)}/resourceclaims/{_part(name)}"


def _headers(server: Server, method: str, body: Any) -> dict[str, str]:
    """Headers of a request, credentials included."""
    headers = server.headers()
    headers["Accept"] = "application/json"
    if body is not None:
        kind = "merge-patch+json" if method == "PATCH" else "json"
        headers["Content-Type"] = f"application/{kind}"
    return headers


def _part(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _read(answer: Any) -> bytes:
    import urllib3

    try:
        data: bytes = answer.read(BODY_MAX + 1)
    except urllib3.exceptions.HTTPError as error:
        raise ApiError(0, f"the answer broke off: {error}") from error
    finally:
        answer.release_conn()
    if len(data) > BODY_MAX:
        answer.close()
        raise ApiError(0, f"the answer has more than {BODY_MAX} bytes")
    return data


def _refusal(what: str, answer: Any) -> ApiError:
    text = _read(answer).decode("utf-8", "replace")
    try:
        message = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        message = text[:200]
    after = answer.headers.get("Retry-After", "")
    return ApiError(
        answer.status,
        f"{what}: {answer.status} {message}",
        retry_after_s=float(after) if after.isdecimal() else 0.0,
    )


def _event(line: bytes) -> dict[str, Any]:
    event = json.loads(line)
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
        raise ValueError("an event without an object")
    if event.get("type") == "ERROR":
        status = event["object"]
        raise ApiError(int(status.get("code") or 0), str(status.get("message")))
    return event
