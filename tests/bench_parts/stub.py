"""A client that keeps objects in a dict and notes what it was asked."""

from __future__ import annotations

import copy

from pytest_dra.api.resources import Resource
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json


class StubClient(Client):
    """Answers as an API server would, for the few requests that the bench's claims need."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str | None, str], Json] = {}
        self.asked: list[tuple[str, str]] = []

    def create(self, resource: Resource, body: Json, *, namespace: str | None = None) -> Json:
        name = body["metadata"]["name"]
        self.asked.append(("create", name))
        key = (resource.plural, namespace, name)
        if key in self.objects:
            raise KubeError(f"{name} exists", code=409, reason="AlreadyExists")
        made = copy.deepcopy(body)
        made["metadata"]["uid"] = f"uid-{len(self.asked)}"
        self.objects[key] = made
        return copy.deepcopy(made)

    def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Json:
        self.asked.append(("get", name))
        return copy.deepcopy(self._found(resource, name, namespace))

    def replace(
        self,
        resource: Resource,
        body: Json,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Json:
        name = body["metadata"]["name"]
        self.asked.append((f"replace {subresource}", name))
        kept = self._found(resource, name, namespace)
        kept["status"] = copy.deepcopy(body["status"])
        return copy.deepcopy(kept)

    def patch(
        self,
        resource: Resource,
        name: str,
        body: Json,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Json:
        self.asked.append((f"patch {subresource}", name))
        kept = self._found(resource, name, namespace)
        kept.update(copy.deepcopy(body))
        return copy.deepcopy(kept)

    def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        grace_s: int | None = 0,
        uid: str = "",
    ) -> Json:
        self.asked.append(("delete", name))
        self._found(resource, name, namespace)
        return self.objects.pop((resource.plural, namespace, name))

    def _found(self, resource: Resource, name: str, namespace: str | None) -> Json:
        try:
            return self.objects[(resource.plural, namespace, name)]
        except KeyError:
            raise KubeError(f"no {name}", code=404, reason="NotFound") from None
