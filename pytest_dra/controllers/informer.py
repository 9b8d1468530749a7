"""The objects of one resource, kept as they are in the cluster."""

from __future__ import annotations

import threading
from typing import Final

from pytest_dra.api.resources import Resource
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.kube import Watch
from pytest_dra.spec import Json

Key = tuple[str, str]

WATCH_S: Final = 300
"""Longest watch; then it goes on with a new one."""

_AGAIN_S: Final = 1.0
"""Pause after a failure: an API server that is in trouble shall not get more of it."""

_JOIN_S: Final = 5.0


class Informer:
    """Lists and watches in its own thread; ``changed`` is set after every change.

    ``optional``: the server may not have the resource, which then has no objects.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        changed: threading.Event,
        *,
        optional: bool = False,
    ) -> None:
        self.resource = resource
        self.synced = threading.Event()
        self.revision = 0
        self.failure = ""
        self._client = client
        self._changed = changed
        self._optional = optional
        self._objects: dict[Key, Json] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._watch: Watch | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"dra-watch-{resource.plural}", daemon=True
        )

    def start(self) -> None:
        """Begin to list and watch."""
        self._thread.start()

    def stop(self) -> None:
        """End it and wait for the thread."""
        self._stopped.set()
        watch = self._watch
        if watch is not None:
            watch.stop()
        self._thread.join(_JOIN_S)

    def objects(self) -> list[Json]:
        """All objects, with their kind. They may not be changed."""
        with self._lock:
            return list(self._objects.values())

    def put(self, obj: Json) -> None:
        """Take an object that the server has just answered: the watch may be behind."""
        with self._lock:
            known = self._objects.get(_key(obj))
            if known is not None and _version(known) <= _version(obj):
                self._store(obj)

    def _store(self, obj: Json) -> None:
        obj.setdefault("apiVersion", self.resource.api_version)
        obj.setdefault("kind", self.resource.kind)
        self._objects[_key(obj)] = obj
        self.revision += 1

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow(self._list())
            except KubeError as error:
                if self._optional and error.code == NOT_FOUND:
                    self.synced.set()
                    self._changed.set()
                    return
                self.failure = str(error)
                self._changed.set()
                self._stopped.wait(_AGAIN_S)

    def _list(self) -> str:
        items, version = self._client.list_with_version(self.resource)
        with self._lock:
            self._objects = {}
            for item in items:
                self._store(item)
            self.revision += 1
        self.failure = ""
        self.synced.set()
        self._changed.set()
        return version

    def _follow(self, version: str) -> None:
        """Watch until it breaks; an orderly end goes on where it was."""
        while not self._stopped.is_set():
            self._watch = self._client.watch(self.resource, version, seconds=WATCH_S)
            for event in self._watch:
                version = event["object"]["metadata"].get("resourceVersion") or version
                if self._stopped.is_set():
                    return
                self._take(event)

    def _take(self, event: Json) -> None:
        obj: Json = event["object"]
        if event["type"] == "BOOKMARK":
            return
        with self._lock:
            known = self._objects.get(_key(obj))
            if event["type"] == "DELETED":
                if known is not None:
                    del self._objects[_key(obj)]
                    self.revision += 1
            elif known is None or _version(known) <= _version(obj):
                self._store(obj)
        self._changed.set()


def _key(obj: Json) -> Key:
    meta = obj["metadata"]
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


def _version(obj: Json) -> int:
    """The version as a number, as Kubernetes allows since 1.35 and etcd has always had it."""
    text = str(obj["metadata"].get("resourceVersion") or "0")
    return int(text) if text.isascii() and text.isdigit() else 0
