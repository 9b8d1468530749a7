"""What a client asks of the past, and what a proxy lets it see of it.

A real server keeps its history as long as it wants. So the proxy remembers from which version on
a resource may be asked for, and answers what lies further back as a server that compacted.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final
from urllib.parse import parse_qsl
from urllib.parse import urlencode

from pytest_dra.clusters.recording import Asked
from pytest_dra.embedded import errors
from pytest_dra.embedded.errors import ApiError

EVERY: Final = ""
"""Stands for all resources."""


class Forgotten:
    """The oldest version that may still be asked for, by resource; from any thread."""

    def __init__(self) -> None:
        self._since: dict[str, int] = {}

    def forget(self, resource: str, since: int) -> None:
        """Let nothing older than version ``since`` be asked for, of a plural or (``""``) of all."""
        self._since = {**self._since, resource: since}

    def clear(self) -> None:
        """Remember nothing of what was forgotten: another storage counts anew."""
        self._since = {}

    def failure(self, what: Asked) -> ApiError | None:
        """410 if the request asks for what has been forgotten."""
        since = max(self._since.get(what.route.plural, 0), self._since.get(EVERY, 0))
        version = _past(what) if since and what.verb in ("list", "watch") else 0
        if not 0 < version < since:
            return None
        return errors.expired(f"too old resource version: {version} ({since})")


def _past(what: Asked) -> int:
    """The past version that a list or watch is about; 0 for none."""
    query = _query(what)
    if what.verb == "list" and query.get("continue"):
        return _number(_continued(query["continue"]))
    version = query.get("resourceVersion", "")
    if what.verb == "watch":
        return 0 if "sendInitialEvents" in query else _number(version)
    exact = query.get("resourceVersionMatch", "")
    if exact == "Exact" or (not exact and query.get("limit", "0") != "0"):
        return _number(version)
    return 0


def as_of(what: Asked, version: int) -> str:
    """The target that shows a list from version "0", which may be any, as of this one."""
    query = _query(what)
    any_version = query.get("resourceVersion") == "0" and not query.get("continue")
    if what.verb != "list" or not any_version or query.get("resourceVersionMatch"):
        return what.target
    # in answer to version "0" there are no pages
    query.pop("limit", None)
    query |= {"resourceVersion": str(version), "resourceVersionMatch": "Exact"}
    return f"{what.target.partition('?')[0]}?{urlencode(query)}"


def _query(what: Asked) -> dict[str, str]:
    pairs = parse_qsl(what.target.partition("?")[2], keep_blank_values=True)
    # of a name that stands there twice the server takes the first
    return dict(reversed(pairs))


def _continued(token: str) -> str:
    """The version inside a token for the next page, as kube-apiserver makes it."""
    try:
        found = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return str(found["rv"])
    except (binascii.Error, ValueError, KeyError, TypeError, RecursionError):
        return ""


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < _DIGITS else 0


_DIGITS: Final = 20
"""Digits of a 64 bit number."""
