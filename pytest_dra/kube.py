"""The only importer of the ``kubernetes`` client: objects go in and come out as plain dicts.

The client library brings what must not be written twice: kubeconfig files, credential plugins,
TLS, token refresh. Its typed models are left aside, because they drop unknown fields on read and
refuse them on write, and a conformance suite must see what a driver really sent.

Every failure is a :class:`KubeError`; nothing of urllib3 or the client library comes through.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.parse import urlencode

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.kubewatch import BODY_LIMIT
from pytest_dra.kubewatch import KubeError
from pytest_dra.kubewatch import Watch
from pytest_dra.spec import Json

__all__ = ["REQUEST_TIMEOUT_S", "Client", "KubeError", "Watch"]

REQUEST_TIMEOUT_S = 15.0
"""Longest wait for one answer: mostly milliseconds, 3 s where a server waits for a version."""

_REFUSED = 400
NOT_FOUND = 404
CONFLICT = 409
"""Codes of answers that callers tell apart: no such object, and one that is there already."""


class Client:
    """Requests to one API server with one identity; one instance may be used by several threads.

    Args:
        kubeconfig: names server and identity.
        context: of the kubeconfig; None: the current one.
        token_file: has the token that it names; a kubelet renews that of a pod within the hour,
            and the client library has read it once.
    """

    def __init__(
        self, kubeconfig: Path, *, context: str | None = None, token_file: Path | None = None
    ) -> None:
        import yaml
        from kubernetes import config

        self._acting: Mapping[str, str] = {}

        def configured() -> Any:
            return config.new_client_from_config(  # type: ignore[no-untyped-call]
                config_file=str(kubeconfig), context=context, persist_config=False
            )

        try:
            self._api: Any = _read_twice(configured)
        except config.ConfigException as error:
            raise KubeError(f"kubeconfig {kubeconfig}: {error}", code=0) from error
        except (OSError, ValueError, yaml.YAMLError) as error:
            first = str(error).split("\n", maxsplit=1)[0]
            raise KubeError(f"kubeconfig {kubeconfig}: {first}", code=0) from error
        except (TypeError, LookupError, AttributeError) as error:
            # The client library takes for granted what the file should hold.
            raise KubeError(f"kubeconfig {kubeconfig}: not of the form of one", code=0) from error
        # Else the library looks through the environment again with each request, for a proxy that
        # the connections would not use; and pytest changes it meanwhile from another thread.
        configuration = self._api.configuration
        configuration.proxy = configuration.proxy
        if token_file is not None:
            configuration.refresh_api_key_hook = partial(_read_token, token_file)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Json:
        """One object. Raises KubeError 404 where there is none."""
        return self._request("GET", resource.path(namespace=namespace, name=name))

    def list_with_version(self, resource: Resource) -> tuple[list[Json], str]:
        """All objects of all namespaces, and the version from which to watch them."""
        answer = self._request("GET", resource.path())
        return _items(answer, resource), str(
            (answer.get("metadata") or {}).get("resourceVersion") or ""
        )

    def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        field_selector: str = "",
        label_selector: str = "",
    ) -> list[Json]:
        """All objects that match, with kind and apiVersion filled in."""
        query = _query(fieldSelector=field_selector, labelSelector=label_selector)
        answer = self._request("GET", resource.path(namespace=namespace), query=query)
        return _items(answer, resource)

    def watch(self, resource: Resource, version: str, *, seconds: int) -> Watch:
        """Changes of all namespaces after a version; the server ends it after some seconds.

        Raises:
            KubeError: the server refuses; 410 if the version is too old.
        """
        query = _query(
            watch="true",
            resourceVersion=version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(seconds),
        )
        path = resource.path()
        response = self._open("GET", path, query=query, timeout=seconds + REQUEST_TIMEOUT_S)
        if response.status >= 400:
            text = response.read(BODY_LIMIT)
            response.release_conn()
            _decode("GET", path, response.status, text)
        return Watch(response, path)

    def bind(self, namespace: str, pod: str, uid: str, node: str) -> None:
        """Put a pod on a node."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, "namespace": namespace, **({"uid": uid} if uid else {})},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        path = resources.PODS.path(namespace=namespace, name=pod, subresource="binding")
        self._request("POST", path, body=body)

    def create(self, resource: Resource, body: Json, *, namespace: str | None = None) -> Json:
        """Create ``body`` (kind and apiVersion are filled in) and return what the server made."""
        return self._request(
            "POST", resource.path(namespace=namespace), body=_typed(resource, body)
        )

    def replace(
        self,
        resource: Resource,
        body: Json,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Json:
        """PUT the object, or one of its subresources (``status``)."""
        path = resource.path(
            namespace=namespace, name=body["metadata"]["name"], subresource=subresource
        )
        return self._request("PUT", path, body=_typed(resource, body))

    def patch(
        self,
        resource: Resource,
        name: str,
        body: Json,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Json:
        """Apply a JSON merge patch."""
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        return self._request("PATCH", path, body=body, content_type="application/merge-patch+json")

    def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        grace_s: int | None = 0,
        uid: str = "",
    ) -> Json:
        """Delete one object, at once unless a grace period is given (None: its own).

        With ``uid`` only that object is meant: 409 if another one has its name.
        """
        body: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        if uid:
            body["preconditions"] = {"uid": uid}
        return self._request("DELETE", resource.path(namespace=namespace, name=name), body=body)

    def discard(
        self, resource: Resource, name: str, *, namespace: str | None = None, **how: Any
    ) -> None:
        """Delete one object as :meth:`delete` does; nothing if it is gone."""
        try:
            self.delete(resource, name, namespace=namespace, **how)
        except KubeError as error:
            if error.code != NOT_FOUND:
                raise

    def delete_collection(
        self, resource: Resource, *, namespace: str | None = None, field_selector: str = ""
    ) -> Json:
        """Delete all objects that match the selector, in one request, as the kubelet does."""
        query = _query(fieldSelector=field_selector)
        return self._request("DELETE", resource.path(namespace=namespace), query=query)

    def read(self, path: str) -> Json:
        """What stands at a path that is of no resource: what the server is and serves."""
        return self._request("GET", path)

    def server_version(self) -> str:
        """What the server says it is, like ``v1.37.2``."""
        return str(self.read("/version").get("gitVersion") or "")

    def log(self, namespace: str, pod: str, container: str, *, lines: int) -> str:
        """The end of a container's output. Raises KubeError while there is none."""
        path = resources.PODS.path(namespace=namespace, name=pod, subresource="log")
        return self.text(path, query=_query(container=container, tailLines=str(lines)))

    def text(self, path: str, *, query: str = "") -> str:
        """What stands at a path that is no JSON, as far as that is read. Raises KubeError."""
        response = self._open("GET", path, query=query, timeout=REQUEST_TIMEOUT_S)
        text: bytes = response.read(BODY_LIMIT)
        response.release_conn()
        if response.status >= _REFUSED:
            _decode("GET", path, response.status, text)
        return text.decode(errors="replace")

    def run(
        self, namespace: str, pod: str, container: str, argv: Sequence[str], *, timeout_s: float
    ) -> tuple[int, str, str]:
        """Run a command in a container: its exit status, and the two outputs.

        Raises:
            KubeError: it cannot be run, or does not end in time.
        """
        from pytest_dra import kubeexec

        try:
            return kubeexec.execute(
                self._api.configuration,
                resources.PODS.path(namespace=namespace, name=pod, subresource="exec"),
                argv,
                container=container,
                headers=self._identity(),
                timeout_s=timeout_s,
            )
        except kubeexec.ExecError as error:
            where = f"{namespace}/{pod}"
            raise KubeError(f"exec {argv[0]} in {where}: {error}", code=error.code) from error

    def acting_as(self, user: str, *, extra: Mapping[str, str]) -> Client:
        """The same connections with another identity, for one who may impersonate.

        Args:
            user: its name; the groups of a ServiceAccount follow from that.
            extra: further facts about the user, such as the node of a pod's token.
        """
        other = copy.copy(self)
        other._acting = {"Impersonate-User": user} | {
            f"Impersonate-Extra-{quote(name, safe='')}": value for name, value in extra.items()
        }
        return other

    def _identity(self) -> dict[str, str]:
        """Headers of each request: who asks."""
        headers = {"Accept": "application/json", "User-Agent": "pytest-dra", **self._acting}
        for setting in self._api.configuration.auth_settings().values():
            headers[setting["key"]] = setting["value"]
        return headers

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: Json | None = None,
        content_type: str = "application/json",
    ) -> Json:
        import urllib3

        response = self._open(
            method, path, query=query, body=body, content_type=content_type,
            timeout=REQUEST_TIMEOUT_S,
        )  # fmt: skip
        try:
            text = response.read(BODY_LIMIT)
            response.release_conn()
        except urllib3.exceptions.HTTPError as error:
            raise KubeError(f"{method} {path}: no answer: {error}", code=0) from error
        return _decode(method, path, response.status, text)

    def _open(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: Json | None = None,
        content_type: str = "application/json",
        timeout: float,
    ) -> Any:
        import urllib3

        configuration = self._api.configuration
        headers = self._identity()
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            # Compact and sorted: the server keeps opaque parameters byte for byte and compares
            # them when an object is patched.
            data = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
        url = configuration.host + path + (f"?{query}" if query else "")
        try:
            return self._api.rest_client.pool_manager.request(
                method,
                url,
                body=data,
                headers=headers,
                timeout=timeout,
                retries=False,
                preload_content=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise KubeError(f"{method} {path}: no answer: {error}", code=0) from error


def _read_token(file: Path, configuration: Any) -> None:
    """Take the token that the file has now; one that cannot be read leaves the known one."""
    with suppress(OSError, UnicodeDecodeError):
        token = file.read_text("ascii").strip()
        # Releases of the library name the key differently; a kubeconfig brings one at most.
        for key in configuration.api_key if token else ():
            configuration.api_key[key] = f"Bearer {token}"


def _read_twice(configured: Callable[[], Any]) -> Any:
    """What the library makes of a kubeconfig.

    It walks through the environment, too, which may change meanwhile: that is no fault of the file.
    """
    try:
        return configured()
    except KeyError:
        return configured()


def _items(answer: Json, resource: Resource) -> list[Json]:
    """What a list holds, with what its items leave to the list."""
    items: list[Json] = answer.get("items") or []
    for item in items:
        item.setdefault("apiVersion", resource.api_version)
        item.setdefault("kind", resource.kind)
    return items


def _query(**parts: str) -> str:
    return urlencode({key: value for key, value in parts.items() if value})


def _typed(resource: Resource, body: Json) -> Json:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}


def _decode(method: str, path: str, code: int, text: bytes) -> Json:
    try:
        answer = json.loads(text) if text else {}
    except ValueError:
        answer = {}
    if not isinstance(answer, dict):
        answer = {}
    if code >= 400:
        message = answer.get("message") or text[:200].decode(errors="replace")
        raise KubeError(
            f"{method} {path}: {code} {answer.get('reason', '')}: {message}".replace(" : ", ": "),
            code=code,
            reason=answer.get("reason", ""),
            status=answer,
        )
    return answer
