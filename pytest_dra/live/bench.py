"""The bench of a whole cluster: the driver deployed there, and what a case needs to use it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.clusters.kubeconfig import KUBECONFIG
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.kube import Client
from pytest_dra.live import absence
from pytest_dra.live import classes
from pytest_dra.live import generated
from pytest_dra.live.absence import Absence
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import CONTAINER
from pytest_dra.live.asking import REQUEST
from pytest_dra.live.asking import Ask
from pytest_dra.live.asking import Use
from pytest_dra.live.asking import claim_spec
from pytest_dra.live.asking import pod_spec
from pytest_dra.live.asking import room
from pytest_dra.live.calltimes import CallTimes
from pytest_dra.live.claims import Claims
from pytest_dra.live.deployment import Deployment
from pytest_dra.live.deployment import marks_of
from pytest_dra.live.driver import LiveDriver
from pytest_dra.live.foreign import Foreign
from pytest_dra.live.giving import allocator_of
from pytest_dra.live.guest import Guest
from pytest_dra.live.leftovers import room_name
from pytest_dra.live.node import LiveNode
from pytest_dra.live.pods import Pod
from pytest_dra.live.pods import Pods
from pytest_dra.live.probing import Seen
from pytest_dra.live.probing import devices_must_be_seen
from pytest_dra.live.restarting import Restarts
from pytest_dra.live.setup import LiveSetup
from pytest_dra.live.vacancy import must_be_vacant
from pytest_dra.profile.model import Probe
from pytest_dra.spec import Case
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

ACCOUNT_S: Final = 10.0
"""Longest wait for the default ServiceAccount of a new namespace."""

EVERY_S: Final = 0.2
"""Between two looks for it."""

ENDED_S: Final = 60.0
"""Longest wait for the pods of the run's namespace, which have grace of some seconds each."""


class LiveBench:
    """See the module. A case makes its pods and claims by it; what is left of them goes with the
    case.

    Attributes:
        driver: the driver under test.
        claims: claims and templates in the run's namespace.
        pods: pods there.
        restarts: of the driver's pods, watched.
        allocator: what gives devices to the pods.
    """

    def __init__(self, setup: LiveSetup) -> None:
        self._setup = setup
        self._client: Client = setup.cluster.admin()
        self.profile = setup.profile
        self.namespace = room_name(setup.run)
        self.claims = Claims(self._client, self.namespace, self.profile.budgets)
        self.pods = Pods(self._client, self.namespace, self.profile.budgets)
        self.driver = LiveDriver(
            self._client,
            name=setup.driver_name,
            version=setup.version,
            marks=self.marks,
            objects=setup.objects,
            node=setup.node,
        )
        self._room = Deployment(
            self._client,
            marks=self.marks,
            objects=[room(self.namespace, admin=self.profile.declares("AdminAccess"))],
        )
        self.allocator = allocator_of(setup, self.namespace)
        self.restarts = Restarts(self.driver)
        self._times = CallTimes(self._client, setup.driver_name)
        self._guest = Guest(self._client, setup, self.marks)
        self._absences: list[Absence] = []
        self._deployed = False
        self._seen_classes: set[str] = set()
        self._case = ""
        self._number = 0

    @property
    def run(self) -> str:
        """Name of the run, by which everything that it makes is labelled."""
        return self._setup.run

    @property
    def previous(self) -> Sequence[Json]:
        """The DaemonSets of the driver's previous release; none where that is not known."""
        return self._setup.previous

    @property
    def marks(self) -> Json:
        """Labels and annotations of everything that the run makes."""
        return marks_of(self.run, self._setup.owner)

    @property
    def version(self) -> KubernetesVersion:
        """The cluster's, with the gates that are turned."""
        return self._setup.version

    @property
    def pod_image(self) -> str:
        """Image of pods that use devices."""
        return self._setup.pod_image

    def beside(self) -> LiveBench:
        """Another one on the same driver and namespace, for a case at the same time."""
        other = copy.copy(self)
        other.claims = Claims(self._client, self.namespace, self.profile.budgets)
        other.pods = Pods(self._client, self.namespace, self.profile.budgets)
        return other

    @property
    def client(self) -> Client:
        """The suite's own identity."""
        return self._client

    @property
    def cluster(self) -> WholeCluster:
        """The cluster."""
        return self._setup.cluster

    def open(self) -> None:
        """Deploy the driver; it need not have started yet when this returns.

        Raises:
            ClusterError: an object cannot be made, an image not be loaded, or somebody else has
                deployed the driver.
        """
        cluster, setup = self._setup.cluster, self._setup
        if setup.objects and cluster.provider == KUBECONFIG:
            must_be_vacant(self._client, setup.driver_name)
        for image in dict.fromkeys([*setup.images, setup.pod_image]):
            cluster.load(image)
        self._room.apply()
        self.driver.install()
        self._deployed = bool(setup.objects)
        self._begin()

    def join(self) -> None:
        """Use what another process of the run has deployed. Raises ClusterError."""
        self.driver.adopt()
        self._begin()

    def _begin(self) -> None:
        self.allocator.__enter__()
        # A pod that comes before the namespace's account is refused.
        poll(self._accounts, Deadline.after(ACCOUNT_S), every_s=EVERY_S)
        self._times.begin(self.driver.node)

    def stop(self) -> None:
        """End what acts from here; what is on the cluster stays."""
        self.allocator.__exit__(None, None, None)

    def _accounts(self) -> list[Json]:
        return self._client.list(resources.SERVICE_ACCOUNTS, namespace=self.namespace)

    def close(self) -> list[str]:
        """Remove everything that was made; what is left, in words."""
        self.stop()
        self._room.begin_removal()
        # Pods need their drivers for their end; the namespaces end beside each other, 5 s each.
        self.pods.none_is_left(within_s=ENDED_S)
        self._guest.begin_removal()
        left = self.driver.uninstall()
        if self._deployed:
            # Kubelets do that after half a minute, in which the next run would have to wait.
            self.driver.sweep()
        return [*left, *self._guest.end_removal(), *self._room.end_removal()]

    @contextmanager
    def partner(self) -> Iterator[LiveDriver]:
        """A second driver beside the one under test, which publishes. Raises as ``Guest.there``."""
        with self._guest.there() as other:
            try:
                yield other
            finally:
                self.pods.clear()

    @contextmanager
    def case(self, case: Case) -> Iterator[None]:
        """One case: its pods and claims are gone when it ends."""
        self._case, self._number = case.id.lower(), 0
        try:
            yield
        finally:
            self.pods.clear()
            self.claims.clear()

    @property
    def node(self) -> LiveNode:
        """The chosen or first node of the driver; pods are on it where a case says no other."""
        return LiveNode(
            self.cluster,
            self.driver.nodes()[0],
            driver=self.driver.name,
            within_s=self.profile.budgets.release,
        )

    @property
    def foreign(self) -> Foreign:
        """What the plugin on the first node has no business with. Raises as ``plugins`` does, and
        UnsupportedEnvironment where its rights are ours."""
        plugin = self.driver.plugins()[0]
        generated.must_be_shipped(plugin.item)
        return Foreign(
            self._client,
            driver=self.driver.name,
            node=self.driver.nodes()[0],
            plugin=plugin,
            run=self._setup.run,
            marks=self.marks,
        )

    # what a case asks for

    @property
    def device_class(self) -> str:
        """The first class of the profile.

        Raises:
            UnsupportedEnvironment: it names none.
            ClusterError: the cluster has not had it, so far.
        """
        if not self.profile.driver.device_classes:
            raise UnsupportedEnvironment(
                "the profile names no DeviceClass", way_out="give driver.deviceClasses"
            )
        name = self.profile.driver.device_classes[0]
        if name not in self._seen_classes:
            classes.must_be_there(self._client, name)
            self._seen_classes.add(name)
        return name

    def need_devices(self, number: int) -> None:
        """Raises UnsupportedEnvironment where the first node has fewer devices of the class."""
        found = len(self.driver.devices(self.device_class))
        if found < number:
            raise UnsupportedEnvironment(
                f"{found} devices of class {self.device_class} on one node, {number} are needed",
                way_out="a node with more devices",
            )

    def name(self, what: str) -> str:
        """A name that nothing else of the run has."""
        self._number += 1
        return f"{self._case}-{what}-{self._number}"

    def ask(self, name: str = REQUEST, *, count: int = 1, pinned: bool = False) -> Ask:
        """A request for devices of the class; ``pinned``: for the one of ``samples.pin``."""
        selectors = (self.profile.samples.pin,) if pinned else ()
        return Ask(device_class=self.device_class, name=name, count=count, selectors=selectors)

    def claim(self, *asks: Ask, config: Sequence[Json] = ()) -> str:
        """A claim with these requests, one device by default; its name."""
        name = self.name("claim")
        self.claims.create(name, claim_spec(*(asks or (self.ask(),)), config=config))
        return name

    def template(self, *asks: Ask) -> str:
        """A template of such claims; its name."""
        name = self.name("template")
        self.claims.template(name, claim_spec(*(asks or (self.ask(),))))
        return name

    def pod(
        self,
        *,
        claims: dict[str, str] | None = None,
        templates: dict[str, str] | None = None,
        uses: Sequence[Use] | None = None,
        node: str = "",
    ) -> Pod:
        """A pod on a node of the driver, of one container that uses all its claims by default."""
        names = [*(claims or ()), *(templates or ())]
        spec = pod_spec(
            image=self._setup.pod_image,
            node=node or self.driver.nodes()[0],
            uses=uses or [Use(claims=tuple((name, None) for name in names))],
            claims=claims,
            templates=templates,
            scheduler=self.allocator.scheduler,
        )
        return self.pods.create(self.name("pod"), spec)

    def pod_with(self, claim: str, *, node: str = "") -> Pod:
        """A pod of one container that uses a claim."""
        return self.pod(claims={CLAIM: claim}, node=node)

    # what is seen beside

    def absence(self) -> Absence:
        """What was seen of the driver's absence: once in a run. Raises as ``absence.watched``."""
        if not self._absences:
            self._absences.append(absence.watched(self))
        return self._absences[0]

    def call_times(self, method: str) -> Mapping[float, int]:
        """Calls of the run by their longest time. Raises as :meth:`CallTimes.of`."""
        return self._times.of(self.driver.judged(), method)

    def restart_kubelet(self, node: LiveNode | None = None) -> None:
        """Restart a kubelet, by default the first node's. Raises as that of a node does."""
        chosen = node or self.node
        self._times.keep([chosen.name])
        chosen.restart_kubelet()

    @property
    def cdi_library(self) -> str:
        """Version of the CDI library that the runtimes of the nodes have."""
        return self._setup.cdi_library

    def folder(self) -> Path:
        """An empty folder, gone at the end of the run."""
        return self._setup.folder()

    # what a container sees

    @property
    def probe(self) -> Probe:
        """The injection probe of the profile.

        Raises:
            ClusterError: it gives none.
        """
        probe = self.profile.injection.probe
        if probe is None:
            raise ClusterError("injection.probe: the profile gives none")
        return probe

    def must_see(
        self, pod: Pod, devices: int, *, container: str = CONTAINER, probe: Probe | None = None
    ) -> Seen:
        """Judge that a container sees what so many devices bring; what it sees.

        ``probe``: another driver's, instead of the profile's.

        Raises:
            Violation: it sees more or less.
            ClusterError: the probe cannot be run there.
        """
        probe = probe or self.probe
        told = self.pods.run_in(pod, probe.command, container=container)
        seen = Seen.of(told, probe.expect)
        devices_must_be_seen(f"{pod}, container {container}", seen, probe.expect, devices=devices)
        return seen
