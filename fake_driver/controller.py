"""The driver's controller, as variants have it: pools of no node, published by one instance.

It runs in each process of the driver. Which one publishes is settled by a Lease, as for any
controller: the holder renews it, and another one takes it over where that has not happened for a
while.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import logging
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Final

from pytest_dra.fake_driver.apiserver import CONFLICT
from pytest_dra.fake_driver.apiserver import NOT_FOUND
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.inventory import Pool
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices

SHARED: Final = "fabric"
"""Name of the pool that belongs to no node."""

SHARED_DEVICES: Final = 2

LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

LEASE_S: Final = 15
"""A lease that was not renewed for so long is free (client-go's usual number)."""

RENEW_S: Final = 2.0
"""Pause between two looks at the lease (client-go's usual number)."""

_log = logging.getLogger(__name__)


class SharedInventories(Inventories):
    """The node's pools and the shared one, whose devices are served on every node."""

    def load(self) -> Inventory:
        inventory = super().load()
        # The same on every node, or each holder of the lease would write another pool.
        same = dataclasses.replace(self.options, devices=None, node_name=SHARED)
        plain = Inventories(same).load()
        model = next(device for pool in plain.pools for device in pool.devices)
        made = tuple(
            {**copy.deepcopy(model), "name": f"{SHARED}-{n}"} for n in range(SHARED_DEVICES)
        )
        return Inventory((*inventory.pools, Pool(name=SHARED, devices=made)))


class OfNodeAlone(Slices):
    """The slices of the node's pools."""

    def wanted(self) -> list[PoolSlices]:
        return [each for each in super().wanted() if each.pool != SHARED]


class SharedSlices(Slices):
    """The slices of the shared pool: for all nodes."""

    choice: ClassVar[Mapping[str, Any]] = {"allNodes": True}
    """How the slices choose their nodes."""

    def wanted(self) -> list[PoolSlices]:
        return [each for each in super().wanted() if each.pool == SHARED]

    def spec(
        self, pool: Pool, devices: tuple[dict[str, Any], ...], *, count: int
    ) -> dict[str, Any]:
        spec = super().spec(pool, devices, count=count)
        del spec["nodeName"]
        return {**spec, **self.choice}


class Lease:
    """Who of several processes may write.

    Args:
        name: of the Lease object.
    """

    def __init__(self, api: ApiServer, name: str) -> None:
        self.api = api
        self.name = name
        self.me = str(uuid.uuid4())
        self._seen = ""
        self._since = 0.0

    def hold(self) -> bool:
        """Take, keep or wait for the lease; True if it is ours now. ApiError without an answer."""
        try:
            lease = self.api.request("GET", f"{LEASES}/{self.name}")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self.name, "namespace": "kube-system"},
                "spec": {},
            }
            return self._write("POST", LEASES, lease)
        version = str(lease["metadata"]["resourceVersion"])
        if version != self._seen:
            self._seen, self._since = version, time.monotonic()
        mine = lease["spec"].get("holderIdentity") == self.me
        if not mine and time.monotonic() - self._since < LEASE_S:
            return False
        return self._write("PUT", f"{LEASES}/{self.name}", lease)

    def _write(self, method: str, path: str, lease: dict[str, Any]) -> bool:
        now = datetime.datetime.now(datetime.timezone.utc)
        lease["spec"] = {
            "holderIdentity": self.me,
            "leaseDurationSeconds": LEASE_S,
            "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        try:
            self.api.request(method, path, body=lease)
        except ApiError as error:
            if error.status != CONFLICT:
                raise
            return False
        return True


class Controller(Publisher):
    """Keeps the shared pool right, and looks at nothing else."""

    def selector(self) -> str:
        return f"spec.driver={self.options.driver_name}"

    def is_ours(self, item: dict[str, Any]) -> bool:
        spec = item.get("spec") or {}
        return (spec.get("driver"), (spec.get("pool") or {}).get("name")) in self.wanted


class WithController(Publisher):
    """Publishes the node's pools; and the shared one, while it holds the lease."""

    shared: type[SharedSlices] = SharedSlices
    """What the controller publishes."""

    def run(self) -> None:
        threading.Thread(target=self.control, name="controller", daemon=True).start()
        super().run()

    def control(self) -> None:
        """Be the controller whenever the lease says so."""
        self.api.connect()
        lease = Lease(self.api, f"{self.options.driver_name}-controller")
        inventory = SharedInventories(self.options).load()
        active: Controller | None = None
        while not self.stopping.is_set():
            active = self.turn(lease, active, inventory)
            self.stopping.wait(RENEW_S)
        if active is not None:
            active.stopping.set()

    def turn(
        self, lease: Lease, active: Controller | None, inventory: Inventory
    ) -> Controller | None:
        """Look at the lease once, and begin or end to publish."""
        try:
            held = lease.hold()
        except ApiError as error:
            _log.warning("%s; looking at the lease again", error)
            return active
        if held and active is None:
            active = Controller(self.options, self.api, self.shared(self.options, inventory))
            threading.Thread(target=active.run, name="shared", daemon=True).start()
        elif not held and active is not None:
            active.stopping.set()
            active = None
        return active
