"""Changes of objects as they come from the API server, and how its refusals are told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from pytest_dra.spec import Json

BODY_LIMIT = 64 * 1024 * 1024
"""Bytes read of one answer: ten times the largest list that a suite could make."""

_CHUNK = 64 * 1024
"""Bytes of a watch that are read at once, at most."""


class KubeError(Exception):
    """The API server refused a request, or could not be asked.

    ``code`` is the HTTP status (0: no answer came), ``reason`` the Status reason (``NotFound``,
    ``Conflict``, ``Invalid`` ...), ``status`` the whole Status object where there was one.
    """

    def __init__(self, message: str, *, code: int, reason: str = "", status: Json | None = None):
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.status = status or {}


class Watch:
    """Changes as they come: ``type`` (ADDED, MODIFIED, DELETED, BOOKMARK) and ``object``."""

    def __init__(self, response: Any, path: str) -> None:
        self._response = response
        self._path = path

    def __iter__(self) -> Iterator[Json]:
        """Raises KubeError if it breaks, and with 410 if it has to begin again."""
        import urllib3

        rest = b""
        try:
            for chunk in self._response.stream(_CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                if len(rest) > BODY_LIMIT:
                    raise KubeError(f"GET {self._path}: an event is too large", code=0)
                yield from (self._event(line) for line in lines if line.strip())
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise KubeError(f"GET {self._path}: the watch broke: {error}", code=0) from error
        finally:
            self._response.close()

    def _event(self, line: bytes) -> Json:
        try:
            event = json.loads(line)
            if event["type"] != "ERROR":
                event["object"]["metadata"]  # what is read of every event
                return dict(event)
            status = event["object"]
            code, message = int(status.get("code") or 0), str(status.get("message") or "")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise KubeError(f"GET {self._path}: no event: {line[:80]!r}", code=0) from error
        raise KubeError(f"GET {self._path}: {message}", code=code, reason=status.get("reason", ""))

    def stop(self) -> None:
        """End it, from another thread."""
        # Without it (urllib3 before 2.3) the watch ends with the next event, or its time.
        shutdown = getattr(self._response, "shutdown", None)
        if shutdown is not None:
            with contextlib.suppress(ValueError, OSError, RuntimeError):
                shutdown()
