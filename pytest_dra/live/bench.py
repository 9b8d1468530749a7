"""The bench of a whole cluster: the driver deployed there, and what a case needs to use it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from contextlib import suppress
from types import MappingProxyType
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.versions import nearest_version
from pytest_dra.bench.allocating import Allocator
from pytest_dra.bench.allocating import KubeScheduler
from pytest_dra.bench.allocating import ReferenceScheduler
from pytest_dra.bench.allocating import rules_with
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import CONTAINER
from pytest_dra.live.asking import Ask
from pytest_dra.live.asking import Use
from pytest_dra.live.asking import claim_spec
from pytest_dra.live.asking import pod_spec
from pytest_dra.live.claims import Claims
from pytest_dra.live.deployment import Deployment
from pytest_dra.live.pods import Pod
from pytest_dra.live.pods import Pods
from pytest_dra.live.probing import Seen
from pytest_dra.live.shipment import workloads_of
from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Case
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

DEPLOYED_S: Final = 120.0
"""Longest way from the manifests to the first slices: the plugin's pod has to start before."""

LOG_LINES: Final = 50
"""Lines of each container of the driver that are kept of a case."""

EVERY_S: Final = 0.5
"""Between two looks at the driver's slices."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LiveSetup:
    """What a bench is made of. ``objects`` are the driver's own, none where it is installed."""

    cluster: WholeCluster
    profile: DriverProfile
    driver_name: str
    run: str
    objects: Sequence[Json] = ()
    images: Sequence[str] = ()
    pod_image: str = ""
    own_allocator: bool = False
    feature_gates: Mapping[str, bool] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )


class LiveBench:
    """See the module. A case makes its pods and claims by it; what is left of them goes with the
    case.

    Attributes:
        claims: claims and templates in the run's namespace.
        pods: pods there.
        allocator: what gives devices to the pods.
    """

    def __init__(self, setup: LiveSetup) -> None:
        self._setup = setup
        self._client: Client = setup.cluster.admin()
        self.profile = setup.profile
        self.namespace = f"dra-{setup.run}"
        self.claims = Claims(self._client, self.namespace)
        self.pods = Pods(self._client, self.namespace)
        self._room = Deployment(
            self._client,
            run=setup.run,
            objects=[
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
            ],
        )
        self._driver = Deployment(self._client, run=setup.run, objects=setup.objects)
        self.allocator = self._new_allocator()
        self._case = ""
        self._number = 0

    def _new_allocator(self) -> Allocator:
        setup = self._setup
        rules = rules_with(nearest_version(self._client.server_version()), setup.feature_gates)
        kind = ReferenceScheduler if setup.own_allocator else KubeScheduler
        return kind(setup.cluster, rules=rules, namespaces=(self.namespace,))

    @property
    def client(self) -> Client:
        """The suite's own identity."""
        return self._client

    @property
    def cluster(self) -> WholeCluster:
        """The cluster."""
        return self._setup.cluster

    @property
    def driver_name(self) -> str:
        """The name under which the driver publishes."""
        return self._setup.driver_name

    def open(self) -> None:
        """Deploy the driver; it need not have started yet when this returns.

        Raises:
            ClusterError: an object cannot be made, or an image not be loaded.
        """
        cluster, setup = self._setup.cluster, self._setup
        for image in dict.fromkeys([*setup.images, setup.pod_image]):
            cluster.load(image)
        self._room.apply()
        self._driver.apply()
        self.allocator.__enter__()

    def stop(self) -> None:
        """End what acts from here; what is on the cluster stays."""
        self.allocator.__exit__(None, None, None)

    def close(self) -> list[str]:
        """Remove everything that was made; what is left, in words."""
        self.stop()
        return [*self._room.remove(), *self._driver.remove()]

    @contextmanager
    def case(self, case: Case) -> Iterator[None]:
        """One case: its pods and claims are gone when it ends."""
        self._case, self._number = case.id.lower(), 0
        try:
            yield
        finally:
            self.pods.clear()
            self.claims.clear()

    # the driver

    def slices(self) -> list[Json]:
        """The driver's slices as they are now."""
        selector = f"spec.driver={self.driver_name}"
        return self._client.list(resources.RESOURCE_SLICES, field_selector=selector)

    def must_publish(self) -> list[Json]:
        """Wait for the driver's first slices.

        Raises:
            Violation: there is none in time, with what the driver's pods say.
        """
        found = poll(self.slices, Deadline.after(DEPLOYED_S), every_s=EVERY_S)
        if not found:
            raise Violation(
                f"ResourceSlices of {self.driver_name}",
                got=f"none; {self._told()}",
                want=f"published within {DEPLOYED_S:g} s after the driver was deployed",
            )
        return found

    def _driver_pods(self) -> list[Json]:
        """The pods in the namespaces of the driver's workloads."""
        namespaces = {each.namespace for each in workloads_of(self._setup.objects)}
        found = self._client.list(resources.PODS)
        return [each for each in found if each["metadata"]["namespace"] in namespaces]

    def _told(self) -> str:
        told = []
        for pod in self._driver_pods():
            states = [
                f"{name}: {about.get('reason') or about.get('startedAt')}"
                for each in pod["status"].get("containerStatuses") or ()
                for name, about in (each.get("state") or {}).items()
            ]
            told.append(f"pod {pod['metadata']['name']} {pod['status']['phase']} {states}")
        return "; ".join(told) or "no pod of the driver"

    def driver_log(self) -> str:
        """The end of the output of the driver's pods; it is only shown, and may be missing."""
        parts = []
        with suppress(KubeError):
            for pod in self._driver_pods():
                metadata = pod["metadata"]
                for container in pod["spec"]["containers"]:
                    text = self._client.log(
                        metadata["namespace"], metadata["name"], container["name"], lines=LOG_LINES
                    )
                    parts.append(f"--- {metadata['name']} {container['name']}\n{text}")
        return "\n".join(parts)

    def nodes(self) -> list[str]:
        """Names of the nodes that have devices of the driver, sorted.

        Raises:
            Violation: the driver publishes nothing.
            UnsupportedEnvironment: no slice is of one node.
        """
        found = {each["spec"].get("nodeName") for each in self.must_publish()} - {None}
        if not found:
            raise UnsupportedEnvironment(
                "no slice of the driver belongs to one node",
                way_out="a cluster on which the driver publishes devices of a node",
            )
        return sorted(map(str, found))

    # what a case asks for

    @property
    def device_class(self) -> str:
        """The first class of the profile."""
        return self.profile.driver.device_classes[0]

    def name(self, what: str) -> str:
        """A name that nothing else of the run has."""
        self._number += 1
        return f"{self._case}-{what}-{self._number}"

    def ask(self, name: str = "device", *, count: int = 1, pinned: bool = False) -> Ask:
        """A request for devices of the class; ``pinned``: for the one of ``samples.pin``."""
        selectors = (self.profile.samples.pin,) if pinned else ()
        return Ask(device_class=self.device_class, name=name, count=count, selectors=selectors)

    def claim(self, *asks: Ask) -> str:
        """A claim with these requests, one device by default; its name."""
        name = self.name("claim")
        self.claims.create(name, claim_spec(*(asks or (self.ask(),))))
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
            node=node or self.nodes()[0],
            uses=uses or [Use(claims=tuple((name, None) for name in names))],
            claims=claims,
            templates=templates,
            scheduler=self.allocator.scheduler,
        )
        return self.pods.create(self.name("pod"), spec)

    def pod_with(self, claim: str, *, node: str = "") -> Pod:
        """A pod of one container that uses a claim."""
        return self.pod(claims={CLAIM: claim}, node=node)

    def seen(self, pod: Pod, *, container: str = CONTAINER) -> Seen:
        """What the injection probe lists in a container that runs.

        Raises:
            ClusterError: the probe cannot be run there.
        """
        probe = self.profile.injection.probe
        if probe is None:
            raise ClusterError("injection.probe: the profile gives none")
        return Seen.of(self.pods.run_in(pod, probe.command, container=container), probe.expect)
