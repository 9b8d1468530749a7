"""Headers on their way through the proxy, with the identity that the server is to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from multidict import CIMultiDict

from pytest_dra.embedded import access
from pytest_dra.embedded.access import User

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


def acting(headers: Mapping[str, str], user: User, *, token: str, admin: str) -> CIMultiDict[str]:
    """A client's headers, with those by which an administrator acts as ``user``.

    Args:
        headers: as they came.
        user: who is asking.
        token: of the administrator.
        admin: name of that administrator, whose own requests are sent on without acting.
    """
    sent = kept(headers, NOT_SENT_ON)
    sent["Accept-Encoding"] = "identity"
    if "Accept" in sent:
        sent["Accept"] = _readable(sent["Accept"])
    if user is access.ANONYMOUS:
        return sent
    sent["Authorization"] = f"Bearer {token}"
    if user.name == admin:
        return sent
    for name in [each for each in sent if each.lower().startswith("impersonate-")]:
        sent.popall(name, None)
    sent["Impersonate-User"] = user.name
    for group in user.groups:
        sent.add("Impersonate-Group", group)
    for key, values in user.extra.items():
        for value in values:
            sent.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
    return sent


def kept(headers: Mapping[str, str], dropped: frozenset[str]) -> CIMultiDict[str]:
    """All headers but ``dropped`` (in small letters)."""
    found: CIMultiDict[str] = CIMultiDict()
    for key, value in headers.items():
        if key.lower() not in dropped:
            found.add(key, value)
    return found


def _readable(accept: str) -> str:
    """Without protobuf, where the client takes JSON as well: the answer is to be read here, too."""
    parts = [each for each in accept.split(",") if PROTOBUF not in each]
    return ",".join(parts) if parts else accept
