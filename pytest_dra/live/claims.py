"""Claims and templates of a case on a cluster."""

from __future__ import annotations

from contextlib import suppress

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.pods import EVERY_S
from pytest_dra.profile.model import Budgets
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll


class Claims:
    """See the module.

    Args:
        client: the suite's own identity.
        namespace: where they are made.
        budgets: how long it may take until they are released.
    """

    def __init__(self, client: Client, namespace: str, budgets: Budgets) -> None:
        self._client = client
        self._namespace = namespace
        self._within_s = budgets.release
        self._made: list[tuple[Resource, str]] = []

    def create(self, name: str, spec: Json) -> Json:
        """Make a claim. Raises KubeError."""
        return self._create(resources.RESOURCE_CLAIMS, name, spec)

    def template(self, name: str, spec: Json) -> Json:
        """Make a template of claims. Raises KubeError."""
        return self._create(resources.RESOURCE_CLAIM_TEMPLATES, name, {"spec": spec})

    def _create(self, resource: Resource, name: str, spec: Json) -> Json:
        body = {"metadata": {"name": name}, "spec": spec}
        made = self._client.create(resource, body, namespace=self._namespace)
        self._made.append((resource, name))
        return made

    def state(self, name: str) -> Json | None:
        """A claim as it is now; None if it is gone."""
        try:
            return self._client.get(resources.RESOURCE_CLAIMS, name, namespace=self._namespace)
        except KubeError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def uid(self, name: str) -> str:
        """UID of a claim that is there."""
        return str((self.state(name) or {})["metadata"]["uid"])

    def results(self, name: str) -> list[Json]:
        """The results of a claim's allocation; none if it has none."""
        status = (self.state(name) or {}).get("status") or {}
        return list(((status.get("allocation") or {}).get("devices") or {}).get("results") or ())

    def devices(self, name: str) -> list[tuple[str, str, str]]:
        """What is allocated to a claim: driver, pool and device of each result."""
        return [(each["driver"], each["pool"], each["device"]) for each in self.results(name)]

    def delete(self, name: str) -> None:
        """Ask for a claim's end; nothing if it is gone."""
        self._client.discard(
            resources.RESOURCE_CLAIMS, name, namespace=self._namespace, grace_s=None
        )

    def generated(self) -> list[str]:
        """Names of the claims in the namespace that pods own."""
        found = self._client.list(resources.RESOURCE_CLAIMS, namespace=self._namespace)
        return [
            str(each["metadata"]["name"])
            for each in found
            if each["metadata"].get("ownerReferences")
        ]

    def must_leave_none(self) -> None:
        """Wait until no claim is left that was made for a pod.

        Raises:
            Violation: some are.
        """
        deadline = Deadline.after(self._within_s)
        if not poll(lambda: not self.generated(), deadline, every_s=EVERY_S):
            raise Violation(
                f"claims of pods in namespace {self._namespace} after the end of all pods",
                got=", ".join(self.generated()),
                want=f"none within {self._within_s:g} s",
            )

    def must_be_deallocated(self, name: str) -> None:
        """Wait until nothing is allocated to a claim that stays.

        Raises:
            Violation: something still is.
        """
        free = poll(lambda: not self.devices(name), Deadline.after(self._within_s), every_s=EVERY_S)
        if not free:
            raise Violation(
                f"claim {self._namespace}/{name} after the end of its pod",
                got=f"allocated: {self.devices(name)}",
                want=f"deallocated within {self._within_s:g} s",
            )

    def must_go(self, name: str) -> None:
        """Wait until a claim that was made from a template is gone.

        Raises:
            Violation: it is not.
        """
        gone = poll(
            lambda: self.state(name) is None, Deadline.after(self._within_s), every_s=EVERY_S
        )
        if not gone:
            raise Violation(
                f"claim {self._namespace}/{name}, made from a template, after the end of its pod",
                got=f"still there: {(self.state(name) or {}).get('status')}",
                want=f"deleted within {self._within_s:g} s",
            )

    def clear(self) -> None:
        """Delete what was made; pods that use it have gone before."""
        made, self._made = self._made, []
        for resource, name in made:
            with suppress(KubeError):
                self._client.delete(resource, name, namespace=self._namespace, grace_s=None)
