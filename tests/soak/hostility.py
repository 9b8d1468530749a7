"""Requests that mean no good: random bytes, broken bodies, headers, paths and queries."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.spec import Json
from tests.soak.oddities import ACCEPTS
from tests.soak.oddities import DIRECTIVES
from tests.soak.oddities import FLIPS_MAX
from tests.soak.oddities import JSON
from tests.soak.oddities import MEDIA
from tests.soak.oddities import METHODS
from tests.soak.oddities import NEST_MAX
from tests.soak.oddities import OPERATIONS
from tests.soak.oddities import POINTERS
from tests.soak.oddities import QUERIES
from tests.soak.oddities import TEXTS
from tests.soak.oddities import VALUES
from tests.soak.oddities import WORDS
from tests.upstream.apiservercore import KINDS
from tests.upstream.apiserverkinds import Written

NAMESPACE: Final = "default"
TOKEN: Final = "T1"


@dataclasses.dataclass(frozen=True, slots=True)
class Hostile:
    """One request; ``raw`` are bytes that are sent instead of a well-formed one."""

    what: str
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    raw: bytes = b""

    def encoded(self) -> bytes:
        """As it goes over the connection, which ends with it."""
        if self.raw:
            return self.raw
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: x", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if "Content-Length" not in self.headers and "Transfer-Encoding" not in self.headers:
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + self.body


class Attacker:
    """Draws requests from a seed; the same seed gives the same requests."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  repeatable, not secret
        self._forms: tuple[Callable[[], Hostile], ...] = (
            self._bytes_as_body,
            self._broken_json,
            self._broken_json,
            self._broken_protobuf,
            self._odd_query,
            self._odd_path,
            self._odd_headers,
            self._wrong_values,
            self._wrong_values,
            self._odd_patch,
            self._bytes_as_request,
        )

    def request(self) -> Hostile:
        """The next one."""
        return self._random.choice(self._forms)()

    def stock(self) -> Iterator[Hostile]:
        """Honest requests that make an object of each kind, which others are about."""
        for name in sorted(KINDS):
            path, written = self._place(name)
            text = json.dumps(written.body).replace("${ns}-0", "n0").replace("${ns}", NAMESPACE)
            yield Hostile("stock", "POST", path, self._plain(), text.encode())

    @staticmethod
    def _plain() -> dict[str, str]:
        return {"Authorization": f"Bearer {TOKEN}", "Content-Type": JSON}

    def _kind(self) -> tuple[str, Written]:
        return self._place(self._random.choice(sorted(KINDS)))

    @staticmethod
    def _place(name: str) -> tuple[str, Written]:
        written = KINDS[name]
        places = {
            "slices": "/apis/resource.k8s.io/v1/resourceslices",
            "classes": "/apis/resource.k8s.io/v1/deviceclasses",
            "rules": "/apis/resource.k8s.io/v1/devicetaintrules",
            "claims": "/apis/resource.k8s.io/v1/namespaces/${ns}/resourceclaims",
            "templates": "/apis/resource.k8s.io/v1/namespaces/${ns}/resourceclaimtemplates",
            "nss": "/api/v1/namespaces",
            "nodes": "/api/v1/nodes",
        }
        path = places.get(written.path, written.path)
        path = path.replace("core/", "/api/v1/namespaces/${ns}/", 1)
        return path.replace("${ns}", NAMESPACE), written

    def _target(self, method: str) -> tuple[str, Written]:
        path, written = self._kind()
        if method in ("PUT", "PATCH") or (
            method in ("DELETE", "GET") and self._random.random() < 0.7
        ):
            path += "/n0"
            if self._random.random() < 0.3:
                path += "/status"
        if self._random.random() < 0.03:
            path = self._random.choice(
                (
                    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                    f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default/token",
                    f"/api/v1/namespaces/{NAMESPACE}/pods/n0/binding",
                    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
                    f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
                )
            )
        return path, written

    def _headers(self, media: str) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": media}
        if self._random.random() < 0.1:
            headers["Accept"] = self._random.choice(ACCEPTS)
        return headers

    def _valid(self, written: Written) -> Json:
        text = json.dumps(written.body).replace("${ns}", NAMESPACE)
        body: Json = json.loads(text)
        if self._random.random() < 0.4:
            body["metadata"] = {"generateName": "h-"}
        return body

    def _some_bytes(self, most: int = 300) -> bytes:
        return self._random.randbytes(self._random.randrange(most))

    def _flipped(self, data: bytes) -> bytes:
        out = bytearray(data)
        for _ in range(self._random.randrange(1, FLIPS_MAX)):
            if not out:
                break
            at = self._random.randrange(len(out))
            how = self._random.randrange(4)
            if how == 0:
                out[at] = self._random.randrange(256)
            elif how == 1:
                del out[at : at + self._random.randrange(1, 9)]
            elif how == 2:
                out[at:at] = self._some_bytes(9)
            else:
                out[at:at] = self._random.choice(WORDS).encode()
        return bytes(out)

    def _bytes_as_body(self) -> Hostile:
        method = self._random.choice(METHODS[:4])
        target, _ = self._target(method)
        media = self._random.choice(MEDIA)
        return Hostile("bytes", method, target, self._headers(media), self._some_bytes())

    def _broken_json(self) -> Hostile:
        method = self._random.choice(METHODS[:4])
        target, written = self._target(method)
        body = self._flipped(json.dumps(self._valid(written)).encode())
        if self._random.random() < 0.05:
            depth = self._random.randrange(NEST_MAX)
            body = self._random.choice(
                (b"[" * depth, b'{"a":' * depth, b"[" * depth + b"]" * depth)
            )
        return Hostile("json", method, target, self._headers(self._random.choice(MEDIA)), body)

    def _broken_protobuf(self) -> Hostile:
        method = self._random.choice(("POST", "PUT", "DELETE"))
        target, written = self._target(method)
        body = written.body
        head = _field(
            1, _field(1, str(body["apiVersion"]).encode()) + _field(2, str(body["kind"]).encode())
        )
        meta = _field(1, b"n0") + (_field(2, b"h-") if self._random.random() < 0.5 else b"")
        inner = _field(1, meta) + _field(2, self._message(3))
        data = (
            b"k8s\x00"
            + head
            + _field(2, inner if self._random.random() < 0.7 else self._some_bytes())
        )
        if self._random.random() < 0.5:
            data = self._flipped(data)
        return Hostile("protobuf", method, target, self._headers(MEDIA[3]), data)

    def _message(self, depth: int) -> bytes:
        out = b""
        for _ in range(self._random.randrange(4)):
            number, how = self._random.randrange(1, 9), self._random.randrange(4)
            if how == 0:
                out += _key(number, 0) + _varint(
                    self._random.getrandbits(self._random.choice((3, 31, 64)))
                )
            elif how == 1 and depth:
                out += _field(number, self._message(depth - 1))
            elif how == 2:
                out += _field(number, self._some_bytes(12))
            else:
                out += _field(number, self._random.choice((b"a", b"1Gi", b"n0", b"{}", b"[", b"")))
        return out

    def _text(self) -> str:
        if self._random.random() < 0.2:
            return self._some_bytes(30).decode("latin-1")
        return self._random.choice(TEXTS)

    def _odd_query(self) -> Hostile:
        method = self._random.choice(("GET", "GET", "POST", "PUT", "PATCH", "DELETE"))
        target, written = self._target(method)
        pairs = [
            f"{self._random.choice(QUERIES)}={_quoted(self._text())}"
            for _ in range(self._random.randrange(1, 5))
        ]
        if method == "GET" and self._random.random() < 0.4:
            pairs += ["watch=" + self._random.choice(("1", "true", "x")), "timeoutSeconds=1"]
        body = json.dumps(self._valid(written)).encode() if method not in ("GET", "DELETE") else b""
        media = MEDIA[4] if method == "PATCH" else JSON
        where = target + "?" + self._random.choice("&&&;").join(pairs)
        return Hostile("query", method, where, self._headers(media), body)

    def _odd_path(self) -> Hostile:
        method = self._random.choice(METHODS)
        target, written = self._target(method)
        parts = target.split("/")
        for _ in range(self._random.randrange(1, 3)):
            at = self._random.randrange(1, len(parts) + 1)
            if at < len(parts) and self._random.random() < 0.6:
                parts[at] = _quoted(self._text())
            else:
                parts.insert(at, _quoted(self._text()))
        body = json.dumps(self._valid(written)).encode()
        return Hostile("path", method, "/".join(parts) or "/", self._headers(JSON), body)

    def _odd_headers(self) -> Hostile:
        method = self._random.choice(METHODS)
        target, written = self._target(method)
        headers = self._headers(self._random.choice(MEDIA))
        for _ in range(self._random.randrange(1, 4)):
            name = self._random.choice(
                (
                    "Accept",
                    "Content-Type",
                    "Authorization",
                    "User-Agent",
                    "Accept-Encoding",
                    "Content-Encoding",
                    "Impersonate-User",
                    "Impersonate-Group",
                    "Expect",
                    "Content-Length",
                    "Transfer-Encoding",
                    "Upgrade",
                    "X-Remote-User",
                    "Cookie",
                )
            )
            text = self._text().replace("\r", "").replace("\n", "").replace("\x00", "")
            headers[name] = (
                text if name != "Content-Length" else self._random.choice(("5", "-1", "x", "0"))
            )
        return Hostile(
            "headers", method, target, headers, json.dumps(self._valid(written)).encode()
        )

    def _wrong_values(self) -> Hostile:
        """A body whose parts have been exchanged for others at random: JSON, but no object."""
        method = self._random.choice(("POST", "POST", "PUT", "PATCH", "PATCH", "DELETE"))
        target, written = self._target(method)
        body = self._valid(written)
        for source in (written.edits, written.status, written.spoils):
            for path in source:
                if self._random.random() < 0.2:
                    _set(body, path, copy.deepcopy(self._random.choice(source[path])))
        self._exchange(body)
        media = self._random.choice(MEDIA[4:8]) if method == "PATCH" else JSON
        if media == MEDIA[7]:
            target += "?fieldManager=h&force=true"
        return Hostile("values", method, target, self._headers(media), json.dumps(body).encode())

    def _exchange(self, value: object) -> None:
        for _ in range(self._random.randrange(1, 4)):
            place = value
            while isinstance(place, (dict, list)) and place:
                key = self._random.choice(
                    list(place) if isinstance(place, dict) else range(len(place))
                )
                below = place[key]
                if not isinstance(below, (dict, list)) or not below or self._random.random() < 0.3:
                    place[key] = copy.deepcopy(self._random.choice(VALUES))
                    break
                place = below

    def _odd_patch(self) -> Hostile:
        target, _ = self._target("PATCH")
        operations = [
            {
                "op": self._random.choice(OPERATIONS),
                "path": self._random.choice(POINTERS),
                "from": self._random.choice(POINTERS),
                "value": self._random.choice(VALUES),
            }
            for _ in range(self._random.randrange(1, 4))
        ]
        body: object = operations
        media = MEDIA[6]
        if self._random.random() < 0.5:
            media = MEDIA[5]
            body = {
                self._random.choice(("metadata", "spec", "status", "$patch", "data", "rules")): {
                    self._random.choice(DIRECTIVES): self._random.choice(VALUES)
                    for _ in range(self._random.randrange(1, 4))
                }
            }
        return Hostile("patch", "PATCH", target, self._headers(media), json.dumps(body).encode())

    def _bytes_as_request(self) -> Hostile:
        target, written = self._target("POST")
        good = Hostile("", "POST", target, self._headers(JSON), json.dumps(written.body).encode())
        broken = (
            self._flipped(good.encoded()) if self._random.random() < 0.7 else self._some_bytes()
        )
        return Hostile("wire", "", "", MappingProxyType({}), b"", broken or b"\r\n")


def _set(body: Json, path: str, value: object) -> None:
    if "[" in path:
        return
    *way, last = path.split(".")
    place = body
    for part in way:
        if not isinstance(place.get(part), dict):
            place[part] = {}
        place = place[part]
    place[last] = value


def _quoted(text: str) -> str:
    safe = "".join(
        letter if 0x20 < ord(letter) < 0x7F and letter not in " #" else _percent(letter)
        for letter in text
    )
    return safe[:6000]


def _percent(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _field(number: int, data: bytes) -> bytes:
    return _key(number, 2) + _varint(len(data)) + data
