"""Legal variants of how the driver asks the API server: V24 and V28 of the catalogue."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import NOT_FOUND
from pytest_dra.fake_driver.apiserver import REQUEST_S
from pytest_dra.fake_driver.apiserver import RESOURCE_API
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer

API_GROUP: Final = RESOURCE_API.rpartition("/")[0]

OLDEST_FIRST: Final = ("v1beta1", "v1beta2", "v1")
"""Versions of resource.k8s.io; from 1.34 on a server serves the last one alone by default."""

NEWEST_FIRST: Final = ("v1", "v1beta2", "v1beta1")

BETWEEN_S: Final = 0.2
"""Five requests a second, client-go's limit where nobody sets another."""


class OldestFirst(ApiServer):
    """V24: each claim is read under one version of the API after the other."""

    versions = OLDEST_FIRST

    def read_claim(
        self, namespace: str, name: str, *, timeout_s: float, api: str = API_GROUP
    ) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        *others, last = [f"{api}/{version}" for version in self.versions]
        for other in others:
            left_s = max(0.0, deadline - time.monotonic())
            try:
                return super().read_claim(namespace, name, timeout_s=left_s, api=other)
            except ApiError as error:
                if error.status != NOT_FOUND:
                    raise
        left_s = max(0.0, deadline - time.monotonic())
        return super().read_claim(namespace, name, timeout_s=left_s, api=last)


class NewestFirst(OldestFirst):
    """V24: the other way round, so that a claim that is gone is asked for three times."""

    versions = NEWEST_FIRST


class Throttled(ApiServer):
    """V28: requests are sent one after the other, with a pause between any two."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._turns = threading.Lock()
        self._next = 0.0

    def _open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        timeout_s: float = REQUEST_S,
    ) -> Any:
        threading.Event().wait(max(0.0, self.turn() - time.monotonic()))
        return super()._open(method, path, query=query, body=body, timeout_s=timeout_s)

    def turn(self) -> float:
        """When the next request may be sent, on the monotonic clock."""
        with self._turns:
            mine = max(self._next, time.monotonic())
            self._next = mine + BETWEEN_S
            return mine


VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V24": {"api": OldestFirst},
    "V24-NEWEST": {"api": NewestFirst},
    "V28": {"api": Throttled},
}
