"""The second driver on a cluster, deployed at its first use and removed at the end of the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.launch.tool import ToolError
from pytest_dra.live.driver import LiveDriver
from pytest_dra.live.partner import NAME
from pytest_dra.live.partner import Partner
from pytest_dra.live.setup import LiveSetup
from pytest_dra.live.shipment import ShipmentError
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation


class Guest:
    """See the module. Used by one case at a time; where several processes use one cluster it goes
    after each use, since each of them has its own.

    Args:
        client: the suite's own identity.
        setup: what the run's bench is made of.
        marks: labels and annotations of what is made.
    """

    def __init__(self, client: Client, setup: LiveSetup, marks: Json) -> None:
        self._client = client
        self._setup = setup
        self._marks = marks
        self._lock = Lock()
        self._driver: LiveDriver | None = None

    @contextmanager
    def there(self) -> Iterator[LiveDriver]:
        """It publishes meanwhile. Nothing may use it any more at the end.

        Raises:
            ClusterError: it cannot be deployed.
            UnsupportedEnvironment: this run has none, or the nodes cannot get its image.
        """
        with self._lock:
            try:
                yield self._deployed()
            finally:
                if self._setup.meeting is not None:
                    self.begin_removal()
                    self.end_removal()

    def _deployed(self) -> LiveDriver:
        if self._driver is not None:
            return self._driver
        partner, setup = self._setup.partner, self._setup
        if partner is None:
            raise UnsupportedEnvironment(
                "a run that judges one node of many deploys no second driver",
                way_out="leave --dra-node out",
            )
        if partner.build is not None:
            partner.build(setup.folder())
        setup.cluster.load(partner.image)
        try:
            objects = partner.objects()
        except (ToolError, ShipmentError) as error:
            raise ClusterError(f"the second driver's manifests: {error}") from error
        self._driver = LiveDriver(
            self._client, name=NAME, version=setup.version, marks=self._marks, objects=objects
        )
        try:
            self._driver.install()
            _must_come_up(self._driver, partner)
        except Exception:
            self.begin_removal()
            self.end_removal()
            raise
        return self._driver

    def begin_removal(self) -> None:
        """Ask for its end, if it is there."""
        if self._driver is not None:
            self._driver.begin_removal()

    def end_removal(self) -> list[str]:
        """Wait for it; what is left, in words."""
        driver, self._driver = self._driver, None
        return [] if driver is None else driver.end_removal()


def _must_come_up(driver: LiveDriver, partner: Partner) -> None:
    try:
        driver.must_publish()
    except Violation as violation:
        if partner.build is None:
            raise UnsupportedEnvironment(
                f"the second driver does not come up: {violation}",
                way_out=f"give the nodes the image {partner.image}",
            ) from violation
        raise ClusterError(f"the second driver: {violation}") from violation
