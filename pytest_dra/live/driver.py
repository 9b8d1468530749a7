"""The driver on a whole cluster: what it publishes there, its pods, and how they come and go."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from contextlib import suppress
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.releases import environment_of
from pytest_dra.checks.selecting import Shown
from pytest_dra.checks.selecting import matching
from pytest_dra.checks.selecting import shown
from pytest_dra.checks.workloads import Workload
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live import installed
from pytest_dra.live import podstates
from pytest_dra.live.deployment import Deployment
from pytest_dra.live.pods import must_have_images
from pytest_dra.live.shipment import plugins_of
from pytest_dra.live.shipment import workloads_of
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

DEPLOYED_S: Final = 120.0
"""Longest way from the manifests to the first slices: the plugin's pod has to start before."""

INSTALLED_S: Final = 10.0
"""Longest wait for slices that should be there."""

RESTARTED_S: Final = 120.0
"""Longest way from the end of the plugin's pods to ready ones in their place."""

IMAGES_S: Final = 20.0
"""How long a node may fail to get an image of the driver: a registry may be busy for a moment."""

ITS_IMAGE: Final = (
    "build or pull it in the local engine, from which the nodes of kind get it, or name one in a "
    "registry that the nodes reach"
)
"""The way out for pods of the driver."""


EVERY_S: Final = 0.5
"""Between two looks at the driver's slices or pods."""


class LiveDriver:
    """See the module.

    Args:
        client: the suite's own identity.
        name: under which the driver publishes.
        version: the cluster's, with the gates that are turned.
        marks: labels and annotations of what is made.
        objects: the driver's own, in the order in which they are made; none where it is installed.
        node: whose instance is judged; "": the first node's, and what is published anywhere.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        version: KubernetesVersion,
        marks: Json,
        objects: Sequence[Json],
        node: str = "",
    ) -> None:
        self.name = name
        self.node = node
        self.objects = objects
        self._client = client
        self.environment = environment_of(version, stored=True)
        self._deployment = Deployment(client, marks=marks, objects=objects)

    def install(self) -> None:
        """Deploy it; it need not have started yet when this returns. Raises ClusterError."""
        self._deployment.apply()
        # What an earlier run has left is wiped by the kubelet after 30 s, and says nothing of this.
        if self.objects:
            self._wipe(self.everywhere)

    def adopt(self) -> None:
        """Take it for deployed by this process, as another one of the run has done it."""
        self._deployment.adopt()

    def uninstall(self) -> list[str]:
        """Remove what was deployed; what is left, in words."""
        return self._deployment.remove()

    def begin_removal(self) -> None:
        """Ask for the end of what was deployed."""
        self._deployment.begin_removal()

    def end_removal(self) -> list[str]:
        """Wait for it; what is left, in words."""
        return self._deployment.end_removal()

    def must_be_ours(self) -> None:
        """Raises UnsupportedEnvironment for a driver that somebody else has installed."""
        if not self.objects:
            raise UnsupportedEnvironment(
                "the driver was installed by somebody else",
                way_out="a driver that the suite deploys: --dra-driver=IMAGE with --dra-manifests",
            )

    def sweep(self) -> None:
        """Delete its slices, such as a driver has left which is not there any more."""
        self._wipe(self.slices)

    def _wipe(self, slices: Callable[[], list[Json]]) -> None:
        with suppress(KubeError):
            for each in slices():
                with suppress(KubeError):
                    self._client.delete(resources.RESOURCE_SLICES, each["metadata"]["name"])

    @contextmanager
    def away(self) -> Iterator[None]:
        """The driver is not installed meanwhile; what takes longer than its pods ends meanwhile.

        Raises:
            UnsupportedEnvironment: it is not ours.
            ClusterError: it cannot be removed, or not be installed again.
        """
        self.must_be_ours()
        self.begin_removal()
        try:
            self._must_have_gone([])
            yield
        finally:
            left = self.end_removal()
            if left:
                raise ClusterError(f"still there after the uninstallation: {', '.join(left)}")
            self.install()

    @contextmanager
    def without_plugin(self, *, instead: Sequence[Json] = ()) -> Iterator[None]:
        """No plugin runs on any node meanwhile, or other DaemonSets do in the place of its own.

        Classes, roles and controllers stay.

        Raises:
            UnsupportedEnvironment: the driver is not ours, or has no DaemonSet.
            ClusterError: its pods do not go.
            Violation: they do not come back, or those in their place do not come.
        """
        plugins = [each.item for each in self.plugins()]
        before = self.plugin_pods()
        try:
            self._take_away(plugins)
            if instead:
                self._deployment.apply_again(instead)
                self._must_be_ready(len(before))
            yield
        finally:
            if instead:
                self._take_away(instead)
            self._deployment.apply_again(plugins)
            self._must_be_ready(len(before))

    def _take_away(self, plugins: Sequence[Json]) -> None:
        """Delete DaemonSets and wait for the end of their pods. Raises ClusterError."""
        self._must_have_gone(self._deployment.remove_some(plugins))

    def _must_have_gone(self, left: Sequence[str]) -> None:
        """Wait for the end of the plugin's pods; ``left``: what makes them and is still there."""
        deadline = Deadline.after(RESTARTED_S)
        gone = poll(lambda: not self.plugin_pods(), deadline, every_s=EVERY_S)
        if left or not gone:
            raise ClusterError(
                f"the plugin of {self.name} does not go: {podstates.told(self.pods())}"
            )

    def plugins(self) -> list[Workload]:
        """What makes its plugin's pods.

        Raises:
            UnsupportedEnvironment: the driver is not ours, or nothing does.
        """
        self.must_be_ours()
        found = plugins_of(self.objects)
        if not found:
            raise UnsupportedEnvironment(
                "the manifests have no DaemonSet of a plugin", way_out="complete the manifests"
            )
        return found

    def everywhere(self) -> list[Json]:
        """Its slices as they are now, those of all nodes."""
        selector = f"spec.driver={self.name}"
        return self._client.list(resources.RESOURCE_SLICES, field_selector=selector)

    def slices(self) -> list[Json]:
        """Its slices as they are now: of the chosen node and of no single one, or all of them."""
        return [each for each in self.everywhere() if self._concerns(each)]

    def _concerns(self, item: Json) -> bool:
        return not self.node or item["spec"].get("nodeName") in (None, self.node)

    def must_publish(self) -> list[Json]:
        """Wait for its first slices; on a chosen node for those of that one, if it has such.

        Raises:
            Violation: there is none in time, with what the driver's pods say.
            ClusterError: the nodes cannot get an image of the driver.
        """
        within_s = DEPLOYED_S if self.objects else INSTALLED_S

        patience = Deadline.after(IMAGES_S)

        def look() -> list[Json]:
            seen = self._published()
            late = bool(self.objects) and patience.passed and not seen
            for pod in self.pods() if late else ():
                must_have_images(podstates.name_of(pod), pod, way_out=ITS_IMAGE)
            return seen

        found = poll(look, Deadline.after(within_s), every_s=EVERY_S)
        if not found:
            raise Violation(
                f"ResourceSlices of {self.name}" + (f" on node {self.node}" if self.node else ""),
                got=f"none; {podstates.told(self.pods())}",
                want=f"published within {DEPLOYED_S:g} s after the driver was deployed"
                if self.objects
                else "published by the driver that is installed",
            )
        return found

    def _published(self) -> list[Json]:
        """Nothing where other nodes have slices and the chosen one has none."""
        every = self.everywhere()
        places = {each["spec"].get("nodeName") for each in every} - {None}
        if self.node and places and self.node not in places:
            return []
        return [each for each in every if self._concerns(each)]

    def judged(self) -> list[str]:
        """The nodes whose instances are judged. Raises as :meth:`nodes` does."""
        return [self.node] if self.node else self.nodes()

    def nodes(self) -> list[str]:
        """Names of the nodes that have devices of the driver, sorted; a chosen one is the first.

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
        if not self.node:
            return sorted(map(str, found))
        every = {each["spec"].get("nodeName") for each in self.everywhere()}
        return [self.node, *sorted(map(str, every - {None, self.node}))]

    def devices(self, device_class: str, *selectors: str) -> list[tuple[Json, Json]]:
        """Slice and device of all that a class and selectors match on the first node.

        Raises:
            ClusterError: the class is not there, or a selector does not compile.
        """
        found = self.offered(device_class, *selectors)
        return [(each.item, each.device) for each in found if each.item["spec"].get("nodeName")]

    def offered(self, device_class: str, *selectors: str) -> list[Shown]:
        """The same, and what is of all nodes. Raises as :meth:`devices` does."""
        node = self.nodes()[0]
        here = [
            each
            for each in self.slices()
            if each["spec"].get("nodeName") == node or each["spec"].get("allNodes")
        ]
        try:
            known = self._client.get(resources.DEVICE_CLASSES, device_class)
            asked = [
                each["cel"]["expression"] for each in known["spec"].get("selectors") or () if each
            ]
            found = matching([*asked, *selectors], shown(here, self.environment), self.environment)
        except (KubeError, CompileError) as error:
            raise ClusterError(f"DeviceClass {device_class}: {error}") from error
        return list(found.devices)

    def pods(self) -> list[Json]:
        """The pods in the namespaces of its workloads; of an installed driver its plugin's."""
        if not self.objects:
            return self.plugin_pods()
        namespaces = {each.namespace for each in workloads_of(self.objects)}
        found = self._client.list(resources.PODS)
        return [each for each in found if each["metadata"]["namespace"] in namespaces]

    def plugin_pods(self) -> list[Json]:
        """The pods of the kubelet plugin's DaemonSets."""
        if not self.objects:
            nodes = {str(each["spec"].get("nodeName")) for each in self.slices()}
            nodes = {self.node} if self.node else nodes
            return installed.plugins_of(self.name, self._client.list(resources.PODS), nodes=nodes)
        return podstates.owned_by(self.pods(), plugins_of(self.objects))

    def restart(self) -> None:
        """End the plugin's pods and wait for ready ones in their place.

        Raises:
            Violation: they do not come.
            UnsupportedEnvironment: the driver is not ours.
        """
        self.must_be_ours()
        old = self.plugin_pods()
        if not old:
            raise UnsupportedEnvironment(
                "the driver has no pod of a DaemonSet", way_out="complete the manifests"
            )
        for each in old:
            about = each["metadata"]
            with suppress(KubeError):
                self._client.delete(
                    resources.PODS,
                    about["name"],
                    namespace=about["namespace"],
                    grace_s=None,
                    uid=about["uid"],
                )
        self._must_be_ready(len(old), gone={each["metadata"]["uid"] for each in old})

    def _must_be_ready(self, number: int, *, gone: Collection[str] = ()) -> None:
        """Wait for so many ready pods of the plugin, none of those that have ended."""

        def ready() -> bool:
            now = self.plugin_pods()
            known = {each["metadata"]["uid"] for each in now}
            return (
                len(now) >= number
                and not known.intersection(gone)
                and all(map(podstates.is_ready, now))
            )

        if not poll(ready, Deadline.after(RESTARTED_S), every_s=EVERY_S):
            raise Violation(
                f"pods of {self.name} after their end",
                got=podstates.told(self.pods()),
                want=f"new ones, ready within {RESTARTED_S:g} s",
            )

    @contextmanager
    def without_rights(self) -> Iterator[None]:
        """The roles of the driver are bound to nobody meanwhile.

        Raises:
            UnsupportedEnvironment: it is not ours, or ships no binding.
            ClusterError: one cannot be removed or made.
        """
        self.must_be_ours()
        bindings = [each for each in self.objects if each["kind"].endswith("RoleBinding")]
        if not bindings:
            raise UnsupportedEnvironment(
                "the manifests bind no role to the driver", way_out="complete the manifests"
            )
        try:
            self._deployment.remove_some(bindings)
            yield
        finally:
            self._deployment.apply_again(bindings)

    def run_in_plugin(
        self, node: str, argv: Sequence[str], *, timeout_s: float
    ) -> tuple[int, str, str]:
        """Run a command in the plugin's container on a node: exit code, output, errors.

        Raises:
            UnsupportedEnvironment: there is no such pod.
            KubeError: it cannot be run there.
        """
        pod = podstates.on_node(self.plugin_pods(), node)
        about, container = pod["metadata"], pod["spec"]["containers"][0]["name"]
        return self._client.run(
            about["namespace"], about["name"], container, argv, timeout_s=timeout_s
        )

    def log(self) -> str:
        """The end of the output of its pods; it is only shown, and may be missing."""
        with suppress(KubeError):
            return podstates.log_of(self._client, self.pods())
        return ""
