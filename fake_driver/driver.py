"""The driver put together from its parts, and its life from start to SIGTERM."""

from __future__ import annotations

import dataclasses
import logging
import threading
from typing import Final

from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.binder import Binder
from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.endpoint import Endpoint
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.health import Health
from pytest_dra.fake_driver.hotplug import Hotplug
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.manifests import Manifests
from pytest_dra.fake_driver.metadata import Metadata
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.partitions import Partitions
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.registration import Registration
from pytest_dra.fake_driver.service import DraService
from pytest_dra.fake_driver.slices import Slices
from pytest_dra.fake_driver.statuses import Statuses

LOOK_S: Final = 1.0
"""How often the registration socket is looked after, which offers no event."""

GRACE_S: Final = 0.5
"""How long running calls may go on after SIGTERM: what they have not written is not lost, the
kubelet calls again."""

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The classes that the driver is made of: a fault or a variant puts others in their place."""

    api: type[ApiServer] = ApiServer
    inventories: type[Inventories] = Inventories
    claims: type[Claims] = Claims
    cdi: type[CdiStore] = CdiStore
    ledger: type[Ledger] = Ledger
    preparer: type[Preparer] = Preparer
    service: type[DraService] = DraService
    registration: type[Registration] = Registration
    endpoint: type[Endpoint] = Endpoint
    slices: type[Slices] = Slices
    publisher: type[Publisher] = Publisher
    manifests: type[Manifests] = Manifests
    hotplug: type[Hotplug] = Hotplug
    health: type[Health] = Health
    metadata: type[Metadata] = Metadata
    partitions: type[Partitions] = Partitions
    statuses: type[Statuses] = Statuses
    binder: type[Binder] = Binder


class Driver:
    """One instance of the driver."""

    def __init__(self, options: Options, parts: Parts) -> None:
        self.options = options
        self.stopping = threading.Event()
        self.failure: StartError | None = None
        api = parts.api(options.kubeconfig)
        self.hotplug = parts.hotplug(options, parts.inventories(options).load())
        inventory = self.hotplug.present()
        claims = parts.claims(options.driver_name, api)
        self.cdi = parts.cdi(options)
        self.ledger = parts.ledger(options.data_dir, self.cdi)
        self.ledger.version = options.state_version
        self.metadata = parts.metadata(options)
        self.preparer = parts.preparer(
            inventory,
            claims,
            self.ledger,
            self.cdi,
            self.metadata,
            parts.partitions(options),
            parts.statuses(options, api),
        )
        self.binder = parts.binder(options, api, inventory)
        self.health = parts.health(options, self.preparer)
        service = parts.service(self.preparer, self.health)
        registration = parts.registration(
            options.driver_name,
            options.dra_socket,
            (*service.versions(), *self.health.advertised()),
        )
        self.endpoint = parts.endpoint(options, service, registration)
        self.publisher = parts.publisher(options, api, parts.slices(options, inventory))

    def start(self) -> None:
        """Take over the predecessor's state and serve; StartError if that is impossible."""
        try:
            self.cdi.open()
            self.ledger.open()
            self.metadata.open()
            self.preparer.open()
        except OSError as error:
            raise StartError(f"{error.filename}: {error.strerror}; mend the directory") from error
        self.endpoint.open()
        threading.Thread(target=self._publish, name="publisher", daemon=True).start()
        self.binder.start()
        threading.Thread(target=self._follow_hotplug, name="hotplug", daemon=True).start()
        if self.metadata.on:
            threading.Thread(target=self._follow_updates, name="metadata", daemon=True).start()

    def _publish(self) -> None:
        try:
            self.publisher.run()
        except StartError as error:
            self.failure = error
            self.stopping.set()

    def _follow_hotplug(self) -> None:
        self.hotplug.follow(self.publisher.stopping, self._change)

    def _follow_updates(self) -> None:
        self.metadata.follow(self.publisher.stopping)

    def _change(self, inventory: Inventory) -> bool:
        self.preparer.inventory = inventory
        return self.publisher.change(inventory)

    def serve(self) -> None:
        """Serve until somebody sets ``stopping``; StartError if the driver cannot go on."""
        while not self.stopping.wait(LOOK_S):
            self.endpoint.look_after()
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """Leave the registry and stop serving; slices and prepared claims stay."""
        self.publisher.stopping.set()
        self.health.close()
        self.binder.stopping.set()
        self.endpoint.close(GRACE_S)
        _log.info("stopped")
