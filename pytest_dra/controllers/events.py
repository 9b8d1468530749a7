"""Events of pods, as controllers tell them."""

from __future__ import annotations

import logging
import secrets
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.times import stamp
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json

_LOG: Final = logging.getLogger(__name__)

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

MESSAGE_MAX: Final = 1024
"""Characters of an event's message."""

_TOLD_MAX: Final = 10_000
"""Pods whose last event is remembered."""


class Events:
    """Tells what happens to pods."""

    def __init__(self, client: Client, component: str) -> None:
        self._client = client
        self._component = component
        self._told: dict[str, tuple[str, str]] = {}

    def tell(self, pod: Json, kind: str, reason: str, message: str) -> bool:
        """Make an event, but not of what was told last; False in that case."""
        uid = str(pod["metadata"].get("uid") or "")
        if self._told.get(uid) == (reason, message):
            return False
        if len(self._told) >= _TOLD_MAX:
            self._told.clear()
        self._told[uid] = (reason, message)
        self.repeat(pod, kind, reason, message)
        return True

    def repeat(self, pod: Json, kind: str, reason: str, message: str) -> None:
        """Make an event in any case; a failure is only written down: nothing depends on it."""
        meta = pod["metadata"]
        namespace, moment = meta.get("namespace") or "default", stamp()
        body = {
            "metadata": {"name": f"{meta['name']}.{secrets.token_hex(8)}", "namespace": namespace},
            "involvedObject": {
                "apiVersion": pod.get("apiVersion") or "v1", "kind": pod.get("kind") or "Pod",
                "namespace": namespace, "name": meta["name"], "uid": str(meta.get("uid") or ""),
            },
            "type": kind,
            "reason": reason,
            "message": message[:MESSAGE_MAX],
            "source": {"component": self._component},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }  # fmt: skip
        try:
            self._client.create(resources.EVENTS, body, namespace=namespace)
        except KubeError as error:
            _LOG.info("event of pod %s/%s: %s", namespace, meta["name"], error)
