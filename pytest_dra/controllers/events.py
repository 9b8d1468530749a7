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

_MESSAGE_MAX: Final = 1024
"""Characters of an event's message."""

_TOLD_MAX: Final = 10_000
"""Pods whose last event is remembered."""


class Events:
    """Tells what happens to pods; the same thing only once in a row."""

    def __init__(self, client: Client, component: str) -> None:
        self._client = client
        self._component = component
        self._told: dict[str, tuple[str, str]] = {}

    def tell(self, pod: Json, kind: str, reason: str, message: str) -> None:
        """Make an event; a failure is only written down, since nothing depends on it."""
        meta = pod["metadata"]
        uid = str(meta.get("uid") or "")
        if self._told.get(uid) == (reason, message):
            return
        if len(self._told) >= _TOLD_MAX:
            self._told.clear()
        self._told[uid] = (reason, message)
        namespace, moment = meta.get("namespace") or "default", stamp()
        body = {
            "metadata": {"name": f"{meta['name']}.{secrets.token_hex(8)}", "namespace": namespace},
            "involvedObject": {
                "apiVersion": pod.get("apiVersion") or "v1", "kind": pod.get("kind") or "Pod",
                "namespace": namespace, "name": meta["name"], "uid": uid,
            },
            "type": kind,
            "reason": reason,
            "message": message[:_MESSAGE_MAX],
            "source": {"component": self._component},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }  # fmt: skip
        try:
            self._client.create(resources.EVENTS, body, namespace=namespace)
        except KubeError as error:
            _LOG.info("event of pod %s/%s: %s", namespace, meta["name"], error)
