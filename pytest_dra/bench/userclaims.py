"""Claims of a user's test for devices of the driver under test, in one namespace."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from pytest_dra.api import resources
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json

CLAIM: Final = "devices"
"""What a pod calls its claim, and the name of its request."""


class UserClaims:
    """See the module. Called it makes a claim and returns its name; they go with the namespace.

    Args:
        client: the suite's own identity.
        namespace: of the test.
        driver: whose devices are asked for.
        metadata: labels and annotations of what is in no namespace.
    """

    def __init__(
        self, client: Client, namespace: str, *, driver: str, metadata: Json | None = None
    ) -> None:
        self.namespace = namespace
        self._client = client
        self._driver = driver
        self._metadata = metadata or {}
        self._class = ""

    def __enter__(self) -> UserClaims:
        return self

    def __exit__(self, *_: object) -> None:
        if self._class:
            with contextlib.suppress(KubeError):
                self._client.delete(resources.DEVICE_CLASSES, self._class)

    def __call__(self, count: int = 1, selector: str = "", config: Sequence[Json] = ()) -> str:
        """Name of a new ResourceClaim, which several pods can share.

        Args:
            count: devices that it asks for.
            selector: CEL expression that these have to match.
            config: entries of ``spec.devices.config``.
        """
        body = {
            "metadata": {"generateName": f"{CLAIM}-"},
            "spec": self._spec(count, selector, config),
        }
        made = self._client.create(resources.RESOURCE_CLAIMS, body, namespace=self.namespace)
        return str(made["metadata"]["name"])

    def template(self, count: int = 1, selector: str = "", config: Sequence[Json] = ()) -> str:
        """Name of a new ResourceClaimTemplate of such claims."""
        body = {"metadata": {"generateName": f"{CLAIM}-"}}
        spec = {"spec": self._spec(count, selector, config)}
        made = self._client.create(
            resources.RESOURCE_CLAIM_TEMPLATES, {**body, "spec": spec}, namespace=self.namespace
        )
        return str(made["metadata"]["name"])

    def read(self, name: str) -> Json:
        """A claim as it is now. Raises KubeError 404 once it is gone."""
        return self._client.get(resources.RESOURCE_CLAIMS, name, namespace=self.namespace)

    def _spec(self, count: int, selector: str, config: Sequence[Json]) -> Json:
        exactly: Json = {"deviceClassName": self.device_class(), "count": count}
        if selector:
            exactly["selectors"] = [{"cel": {"expression": selector}}]
        devices: Json = {"requests": [{"name": CLAIM, "exactly": exactly}]}
        if config:
            devices["config"] = list(config)
        return {"devices": devices}

    def device_class(self) -> str:
        """Name of a DeviceClass of this test for all devices of the driver under test."""
        if not self._class:
            spec = {"selectors": [{"cel": {"expression": f'device.driver == "{self._driver}"'}}]}
            body = {"metadata": {**self._metadata, "name": self.namespace}, "spec": spec}
            self._client.create(resources.DEVICE_CLASSES, body)
            self._class = self.namespace
        return self._class
