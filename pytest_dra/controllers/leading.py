"""One of several processes at a time: leader election by a Lease."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Final

from pytest_dra.api.resources import LEASES
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json

DURATION_S: Final = 15
"""Seconds after which a leader that is not heard of has lost its place, as kube-scheduler's."""

RETRY_S: Final = 2.0
"""Seconds between two attempts to get or to keep the place."""


class Leader:
    """This process's claim to a lease; :meth:`hold` has to be called again and again.

    ``clock`` counts seconds. Times of other machines are never compared with it: a lease is out of
    date if it did not change for its duration.
    """

    def __init__(
        self, client: Client, *, namespace: str, name: str, identity: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._leading = False
        self._tried: float | None = None
        self._seen: object = None
        self._seen_at = 0.0

    def hold(self) -> bool:
        """True as long as this process leads; asks the server from time to time.

        Without an answer a leader stays one until others may have taken its place.
        """
        now = self._clock()
        if self._tried is not None and now - self._tried < RETRY_S:
            return self._leading
        try:
            self._leading = self._try(now)
            self._tried = now
        except KubeError:
            renewed = self._tried if self._leading and self._tried is not None else None
            if renewed is None or now - renewed > DURATION_S - 2 * RETRY_S:
                self._leading = False
        return self._leading

    def release(self) -> None:
        """Give the place up, so that another one need not wait."""
        if not self._leading:
            return
        self._leading = False
        try:
            lease = self._client.get(LEASES, self._name, namespace=self._namespace)
            if lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"] = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
                self._client.replace(LEASES, lease, namespace=self._namespace)
        except KubeError:
            # It runs out by itself.
            return

    def _try(self, now: float) -> bool:
        try:
            lease = self._client.get(LEASES, self._name, namespace=self._namespace)
        except KubeError as error:
            if error.code != NOT_FOUND:
                raise
            body = {"metadata": {"name": self._name}, "spec": self._spec({}, now=_stamp())}
            self._client.create(LEASES, body, namespace=self._namespace)
            return True
        spec: Json = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if (holder, spec.get("renewTime")) != self._seen:
            self._seen, self._seen_at = (holder, spec.get("renewTime")), now
        lasts = spec.get("leaseDurationSeconds") or DURATION_S
        if holder not in ("", self._identity) and now - self._seen_at < lasts:
            return False
        lease["spec"] = self._spec(spec, now=_stamp())
        self._client.replace(LEASES, lease, namespace=self._namespace)
        return True

    def _spec(self, before: Json, *, now: str) -> Json:
        same = before.get("holderIdentity") == self._identity
        transitions = int(before.get("leaseTransitions") or 0)
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_S,
            "acquireTime": before.get("acquireTime") if same else now,
            "renewTime": now,
            "leaseTransitions": transitions if same or not before else transitions + 1,
        }


def _stamp() -> str:
    """Now, as a MicroTime."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
