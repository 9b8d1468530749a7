"""A plain HTTP client for the tests: what it sends and sees is exactly what is on the wire."""

from __future__ import annotations

import dataclasses
import http.client
import json
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytest_dra.spec import Json

TIMEOUT_S = 10.0
ADMIN = "admin-token"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MERGE = "application/merge-patch+json"


@dataclasses.dataclass(frozen=True)
class Answer:
    """Code, headers (lower case) and body of an answer."""

    code: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Json:
        """The body as an object."""
        found: Json = json.loads(self.text)
        return found

    @property
    def causes(self) -> set[tuple[str, str]]:
        """Field and reason of each cause, without the common prefix of the reasons."""
        causes = self.json["details"].get("causes", [])
        return {(c.get("field", ""), c["reason"].removeprefix("FieldValue")) for c in causes}


class Client:
    """Requests as one identity; ``token`` "" sends none."""

    def __init__(self, url: str, token: str = ADMIN) -> None:
        self._host = urllib.parse.urlsplit(url).netloc
        self._token = token

    def _headers(self, more: dict[str, str] | None) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return {**headers, **(more or {})}

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own; a body that is no bytes is sent as JSON."""
        link = http.client.HTTPConnection(self._host, timeout=TIMEOUT_S)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            link.request(method, path, body=data, headers=self._headers(headers))
            answer = link.getresponse()
            shown = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, shown, answer.read().decode())
        finally:
            link.close()

    def get(self, path: str, **query: str) -> Answer:
        """GET with a query."""
        return self.send("GET", path + query_string(query))

    def post(self, path: str, body: Any, **query: str) -> Answer:
        """POST of JSON."""
        return self.send("POST", path + query_string(query), body)

    def put(self, path: str, body: Any) -> Answer:
        """PUT of JSON."""
        return self.send("PUT", path, body)

    def patch(self, path: str, body: Any, media: str = MERGE, **query: str) -> Answer:
        """PATCH."""
        return self.send("PATCH", path + query_string(query), body, {"Content-Type": media})

    def delete(self, path: str, body: Any = None, **query: str) -> Answer:
        """DELETE."""
        return self.send("DELETE", path + query_string(query), body)

    @contextmanager
    def watch(self, path: str, **query: str) -> Iterator[Iterator[Json]]:
        """An open watch, as an iterator over its events."""
        link = http.client.HTTPConnection(self._host, timeout=TIMEOUT_S)
        try:
            where = path + query_string({"watch": "true", **query})
            link.request("GET", where, headers=self._headers(None))
            answer = link.getresponse()
            assert answer.status == 200, answer.read()
            yield (json.loads(line) for line in answer)
        finally:
            link.close()


def query_string(query: dict[str, str]) -> str:
    """``?a=b`` or ""."""
    return f"?{urllib.parse.urlencode(query)}" if query else ""


def slice_(name: str = "s", **spec: Any) -> Json:
    """A small slice of node-a; ``spec`` replaces fields (None removes them)."""
    fields = {
        "driver": "gpu.example.com",
        "nodeName": "node-a",
        "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
        **spec,
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {key: value for key, value in fields.items() if value is not None},
    }


def claim(name: str = "c", **more: Any) -> Json:
    """A claim with one request."""
    request = {"name": "r0", "exactly": {"deviceClassName": "gpu.example.com"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [request]}},
        **more,
    }


def allocation(device: str = "gpu-0") -> Json:
    """An allocation of one device for the request of :func:`claim`."""
    result = {"request": "r0", "driver": "gpu.example.com", "pool": "node-a", "device": device}
    return {"devices": {"results": [result]}}
