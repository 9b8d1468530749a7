"""A pod of a user's test, as far as the cluster shows it: the same on every kind of cluster."""

from __future__ import annotations

import functools
from typing import Final

from pytest_dra.api import resources
from pytest_dra.bench.allocating import Allocator
from pytest_dra.controllers import podclaims
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.spec import Json

EVENTS_MAX: Final = 5
"""Newest events that a message tells."""


class ShownPod:
    """A pod that was made. Everything is asked of the cluster when it is called."""

    def __init__(self, made: Json, *, client: Client, allocator: Allocator) -> None:
        self.name = str(made["metadata"]["name"])
        self.namespace = str(made["metadata"]["namespace"])
        self.uid = str(made["metadata"]["uid"])
        self._client = client
        self._allocator = allocator

    def __repr__(self) -> str:
        return f"<pod {self.namespace}/{self.name}>"

    def read(self) -> Json:
        """The object as it is now. Raises KubeError 404 once it is gone."""
        return self._client.get(resources.PODS, self.name, namespace=self.namespace)

    @property
    def phase(self) -> str:
        """``Pending``, ``Running``, ``Succeeded``, ``Failed``; "" once it is gone."""
        found = self._seen()
        return str((found.get("status") or {}).get("phase") or "Pending") if found else ""

    @property
    def node(self) -> str:
        """The node that it was put on, "" if none."""
        return str((((self._seen() or {}).get("spec")) or {}).get("nodeName") or "")

    def wait_gone(self) -> None:
        """Wait until it is deleted, its claims unprepared before. Raises AssertionError."""
        raise NotImplementedError

    def claims(self) -> list[Json]:
        """Its ResourceClaims as they are now, in the order of the pod."""
        names = [name for name, _ in podclaims.names_of(self.read())]
        get = functools.partial(
            self._client.get, resources.RESOURCE_CLAIMS, namespace=self.namespace
        )
        return [get(name) for name in names]

    def devices(self) -> list[Json]:
        """What was allocated: results with ``request``, ``driver``, ``pool``, ``device``..."""
        return [one for claim in self.claims() for one in results_of(allocation_of(claim))]

    def delete(self, *, wait: bool = True) -> None:
        """Delete it as a user does; its claims are unprepared first."""
        self._client.discard(
            resources.PODS, self.name, namespace=self.namespace, grace_s=None, uid=self.uid
        )
        if wait:
            self.wait_gone()

    def events(self) -> list[str]:
        """What was told of it, oldest first: ``Reason: message``."""
        found = self._client.list(
            resources.EVENTS,
            namespace=self.namespace,
            field_selector=f"involvedObject.uid={self.uid}",
        )
        return [f"{one.get('reason')}: {one.get('message')}" for one in found]

    def _seen(self) -> Json | None:
        """The object, None once it is gone or another one has its name."""
        try:
            found = self.read()
        except KubeError as error:
            if error.code == NOT_FOUND:
                return None
            raise
        return found if found["metadata"]["uid"] == self.uid else None

    def _told(self) -> str:
        """Its newest events, for a message."""
        return "\n".join(f"  {one}" for one in self.events()[-EVENTS_MAX:])

    def _why(self, within_s: float, *failures: str) -> str:
        """Why it does not run, with what the allocator says of a pod that has no node."""
        lines = [f"{self} does not run within {within_s:g} s, it is {self.phase or 'gone'}"]
        lines += filter(None, [*failures, self._told()])
        if self.phase and not self.node:
            lines.append(self._allocator.explain(self.namespace, self.name))
        return "\n".join(lines)
