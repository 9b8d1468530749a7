"""A few requests to the API server, with the standard library."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

RESOURCE_API = "/apis/resource.k8s.io/v1"
SLICES = f"{RESOURCE_API}/resourceslices"
TIMEOUT_S = 10.0

Object = dict[str, Any]


class Refused(Exception):
    """The API server said no; ``code`` is the HTTP status, 0 if it did not answer."""

    def __init__(self, text: str, *, code: int) -> None:
        super().__init__(text)
        self.code = code


class Api:
    """Requests with the identity of a kubeconfig without TLS."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text("utf-8"))
        self._server = config["clusters"][0]["cluster"]["server"].rstrip("/")
        self._token = config["users"][0]["user"]["token"]

    def request(
        self, method: str, path: str, body: Object | None = None, *, kind: str = "json"
    ) -> Object:
        """One request; ``kind`` is json, merge-patch+json or apply-patch+yaml."""
        request = urllib.request.Request(  # noqa: S310 - the suite's own server
            self._server + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={
                "Content-Type": f"application/{kind}",
                "Authorization": f"Bearer {self._token}",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - same
                found: Object = json.loads(answer.read())
                return found
        except urllib.error.HTTPError as error:
            text = error.read().decode("utf-8", "replace")
            raise Refused(f"{method} {path}: {error.code} {text}", code=error.code) from error
        except OSError as error:
            raise Refused(f"{method} {path}: {error}", code=0) from error

    def slices(self, driver: str, node: str) -> list[Object]:
        """The slices of a driver on a node."""
        selector = quote(f"spec.driver={driver},spec.nodeName={node}")
        found: list[Object] = self.request("GET", f"{SLICES}?fieldSelector={selector}")["items"]
        return found

    def claim(self, namespace: str, name: str) -> Object:
        """One claim."""
        return self.request("GET", f"{RESOURCE_API}/namespaces/{namespace}/resourceclaims/{name}")
