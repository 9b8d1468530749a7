"""URLs, read as Go reads them."""

from __future__ import annotations

import re
from typing import Final

from pytest_dra.cel.errors import CelError
from pytest_dra.cel.opaque import ip_of
from pytest_dra.cel.values import CelMap

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_PATH: Final = frozenset((_LETTERS + "$&+,-./:;=@_~").encode())
_HOST: Final = frozenset((_LETTERS + "!\"$&'()*+,-.:;<=>[]_~").encode())
_USER: Final = frozenset((_LETTERS + "$&+,-.;=_~").encode())
_FRAGMENT: Final = frozenset((_LETTERS + "!$&()*+,-./:;=?@_~").encode())
_KEPT: Final = frozenset(b"!$&'()*+,;=:@[]%")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9a-fA-F]{2})")
_USER_INFO: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_PARAMS_MAX: Final = 10_000
"""Parameters of a query that are looked at."""


class _Fault(ValueError):
    """The text is no URL."""


def _unescape(text: bytes) -> bytes:
    if _BAD_ESCAPE.search(text):
        raise _Fault("bad escape")
    return _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), text)


def _escape(text: bytes, safe: frozenset[int]) -> bytes:
    return b"".join(bytes((c,)) if c in safe else b"%%%02X" % c for c in text)


def _unescape_host(text: bytes, *, zone: bool = False) -> bytes:
    for match in _ESCAPE.finditer(text):
        code = int(match[1], 16)
        if zone:
            fine = match[0] == b"%25" or code == 0x20 or code in _HOST
        else:
            fine = code >= 0x80 or match[0] == b"%25"
        if not fine:
            raise _Fault("bad escape in the host")
    bare = _ESCAPE.sub(b"", text)
    if any(c < 0x80 and c not in _HOST and c != 0x25 for c in bare):
        raise _Fault("bad character in the host")
    return _unescape(text)


class UrlValue:
    """A parsed URL; parts are bytes, as escapes may stand for any byte."""

    __slots__ = (
        "force_query", "fragment", "host", "omit_host", "opaque", "path", "query", "raw_fragment",
        "raw_path", "scheme", "user",
    )  # fmt: skip
    type_name = "kubernetes.URL"

    def __init__(self) -> None:
        self.scheme = b""
        self.opaque = b""
        self.user: tuple[bytes, bytes | None] | None = None
        self.host = b""
        self.path = b""
        self.raw_path = b""
        self.query = b""
        self.force_query = False
        self.omit_host = False
        self.fragment = b""
        self.raw_fragment = b""

    def equals(self, other: object) -> bool | CelError:
        """``==`` with this value on the left."""
        if not isinstance(other, UrlValue):
            return CelError("no-such-overload", "no such overload")
        return self.whole() == other.whole()

    def map_key(self) -> object:
        """As a key of a map."""
        return (UrlValue, id(self))

    def part(self, name: str) -> object:
        """A part, by the name of its function."""
        if name == "getScheme":
            return _text(self.scheme)
        if name == "getHost":
            return _text(self.host)
        if name == "getEscapedPath":
            return _text(self.escaped_path())
        if name == "getQuery":
            return self.parameters()
        hostname, port = self._host_port()
        return _text(hostname if name == "getHostname" else port)

    def _host_port(self) -> tuple[bytes, bytes]:
        host, port = self.host, b""
        head, colon, tail = host.rpartition(b":")
        if colon and _PORT.fullmatch(":" + tail.decode("latin-1")):
            host, port = head, tail
        if host.startswith(b"[") and host.endswith(b"]"):
            host = host[1:-1]
        return host, port

    def escaped_path(self) -> bytes:
        """The path with its escapes."""
        if self.raw_path and all(c in _PATH or c in _KEPT for c in self.raw_path):
            return self.raw_path
        return b"*" if self.path == b"*" else _escape(self.path, _PATH)

    def parameters(self) -> CelMap:
        """The query: names to lists of values; what cannot be read is left out."""
        found: dict[str, list[object]] = {}
        pairs = self.query.split(b"&")
        for pair in pairs if len(pairs) <= _PARAMS_MAX else []:
            if not pair or b";" in pair:
                continue
            name, _, value = pair.partition(b"=")
            try:
                key = _text(_unescape(name.replace(b"+", b" ")))
                item = _text(_unescape(value.replace(b"+", b" ")))
            except _Fault:
                continue
            found.setdefault(key, []).append(item)
        return CelMap.of_strings(found.items())

    def whole(self) -> bytes:
        """The URL as text."""
        head = self.scheme + b":" if self.scheme else b""
        if self.opaque:
            body = self.opaque
        else:
            path = self.escaped_path()
            authority = b""
            if (self.scheme or self.host or self.user) and not (
                self.omit_host and not self.host and not self.user
            ):
                if self.host or self.path or self.user:
                    authority = b"//"
                authority += self._user_text() + _escape(self.host, _HOST)
            if path and not path.startswith(b"/") and self.host:
                authority += b"/"
            if not head and not authority and b":" in path.split(b"/", 1)[0]:
                authority = b"./"
            body = authority + path
        query = b"?" + self.query if self.query or self.force_query else b""
        return head + body + query + self._fragment_text()

    def _user_text(self) -> bytes:
        if self.user is None:
            return b""
        name, password = self.user
        text = _escape(name, _USER)
        if password is not None:
            text += b":" + _escape(password, _USER)
        return text + b"@"

    def _fragment_text(self) -> bytes:
        if not self.fragment:
            return b""
        raw = self.raw_fragment
        if raw and all(c in _FRAGMENT or c in _KEPT for c in raw):
            return b"#" + raw
        return b"#" + _escape(self.fragment, _FRAGMENT)

    def __str__(self) -> str:
        return _text(self.whole())


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def url_of(text: str) -> UrlValue | CelError:
    """An absolute URL or absolute path."""
    try:
        _parse(text, request=True)
        body, _, fragment = text.partition("#")
        made = _parse(body, request=False)
        if fragment:
            raw = fragment.encode()
            made.fragment = _unescape(raw)
            made.raw_fragment = b"" if _escape(made.fragment, _FRAGMENT) == raw else raw
    except _Fault as error:
        return CelError("conversion", f"no URL: {text[:60]!r}: {error}")
    return made


def is_url(text: str) -> bool:
    """True for an absolute URL or absolute path; a fragment counts as a part of it."""
    try:
        _parse(text, request=True)
    except _Fault:
        return False
    return True


def _parse(text: str, *, request: bool) -> UrlValue:
    if any(char < " " or char == "\x7f" for char in text):
        raise _Fault("control character")
    if not text and request:
        raise _Fault("empty")
    made = UrlValue()
    if text == "*":
        made.path = b"*"
        return made
    scheme, rest = _split_scheme(text)
    made.scheme = scheme.lower().encode()
    if rest.endswith("?") and rest.count("?") == 1:
        made.force_query = True
        rest = rest[:-1]
    else:
        rest, _, query = rest.partition("?")
        made.query = query.encode()
    if not rest.startswith("/"):
        if scheme:
            made.opaque = rest.encode()
            return made
        if request:
            raise _Fault("want a scheme or a leading slash")
        if ":" in rest.split("/", 1)[0]:
            raise _Fault("colon in the first segment")
    if (scheme or (not request and not rest.startswith("///"))) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        _authority(made, scheme.lower(), authority)
    elif scheme and rest.startswith("/"):
        made.omit_host = True
    raw = rest.encode()
    made.path = _unescape(raw)
    made.raw_path = b"" if _escape(made.path, _PATH) == raw else raw
    return made


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise _Fault("no scheme before the colon")
    match = _SCHEME.fullmatch(text)
    return (match[1], match[2]) if match else ("", text)


def _authority(made: UrlValue, scheme: str, authority: str) -> None:
    info, at, host = authority.rpartition("@")
    made.host = _host(scheme, host)
    if not at:
        return
    if not _USER_INFO.fullmatch(info):
        raise _Fault("bad user information")
    name, colon, password = info.partition(":")
    made.user = (_unescape(name.encode()), _unescape(password.encode()) if colon else None)


def _host(scheme: str, host: str) -> bytes:
    bracket = host.rfind("[")
    if bracket > 0:
        raise _Fault("bad address in brackets")
    if bracket == 0:
        return _bracketed(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        at = first if first == last or scheme in ("http", "https") else last
        if not _PORT.fullmatch(host[at:]):
            raise _Fault("bad port")
    return _unescape_host(host.encode())


def _bracketed(host: str) -> bytes:
    close = host.rfind("]")
    if close < 0:
        raise _Fault("no closing bracket")
    port = host[close + 1 :]
    if not _PORT.fullmatch(port):
        raise _Fault("bad port")
    inner = host[1:close].encode()
    zone_at = inner.find(b"%25")
    if zone_at >= 0:
        name = _unescape_host(inner[:zone_at]) + _unescape_host(inner[zone_at:], zone=True)
    else:
        name = _unescape_host(inner)
    bare, _, _zone = name.partition(b"%")
    address = _text(bare)
    mapped = address.lower().startswith("::ffff:")
    found = ip_of("::" + address[7:] if mapped and "." in address else address)
    if (isinstance(found, CelError) and not mapped) or ":" not in address or name.endswith(b"%"):
        raise _Fault("bad address in brackets")
    return b"[" + name + b"]" + port.encode()
