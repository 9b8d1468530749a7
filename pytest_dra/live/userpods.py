"""Driver and pods of a whole cluster in a user's own tests, as they are on the bench."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final

from pytest_dra.api import resources
from pytest_dra.bench.allocating import Allocator
from pytest_dra.bench.devices import Device
from pytest_dra.bench.devices import devices_of
from pytest_dra.bench.userclaims import CLAIM
from pytest_dra.bench.userclaims import UserClaims
from pytest_dra.bench.userpod import ShownPod
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.asking import CONTAINER
from pytest_dra.live.asking import GRACE_S
from pytest_dra.live.asking import STAY
from pytest_dra.live.driver import LiveDriver
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

RUNNING_S: Final = 180.0
"""Longest wait for a pod to run: its image may have to be pulled."""

GONE_S: Final = 120.0
"""Longest wait for a pod to be gone."""

EVERY_S: Final = 0.2
"""Between two looks at a pod."""

COMMAND_S: Final = 30.0
"""Longest run of a command in a container."""


class UserDriver:
    """The driver on the cluster. ``driver_name`` is its name; slices are there when it is made."""

    def __init__(self, driver: LiveDriver) -> None:
        self.driver_name = driver.name
        self._driver = driver
        self._node = driver.nodes()[0]

    @property
    def node(self) -> str:
        """The first node that has devices of it."""
        return self._node

    def nodes(self) -> list[str]:
        """Names of all such nodes, sorted."""
        return self._driver.nodes()

    def slices(self) -> list[Json]:
        """Its slices as they are now."""
        return self._driver.slices()

    def devices(self, node: str = "") -> list[Device]:
        """Devices of a node, the first one by default; plain ones first."""
        return devices_of(self._driver.slices(), driver=self.driver_name, node=node or self._node)


class UserPod(ShownPod):
    """A pod on a real node."""

    def wait_running(self, *, within_s: float = RUNNING_S) -> UserPod:
        """Wait until it runs.

        Raises:
            AssertionError: it does not in that time; says what its events and the allocator say.
        """
        if not poll(lambda: self.phase == "Running", Deadline.after(within_s), every_s=EVERY_S):
            raise AssertionError(self._why(within_s))
        return self

    def wait_gone(self, *, within_s: float = GONE_S) -> None:
        """Wait until it is deleted, its claims unprepared before. Raises AssertionError."""
        if not poll(lambda: not self.phase, Deadline.after(within_s), every_s=EVERY_S):
            raise AssertionError(f"{self} is not gone after {within_s:g} s\n{self._told()}")

    def run(self, *argv: str, container: str = "") -> str:
        """What a command says in a container, the first one by default.

        Raises:
            AssertionError: it fails, or cannot be run.
        """
        container = container or str(self.read()["spec"]["containers"][0]["name"])
        try:
            code, out, err = self._client.run(
                self.namespace, self.name, container, argv, timeout_s=COMMAND_S
            )
        except KubeError as error:
            raise AssertionError(str(error)) from error
        if code:
            raise AssertionError(f"{argv[0]} in {self}: status {code}: {err.strip()}")
        return out

    def environment(self, container: str = "") -> dict[str, str]:
        """The variables of a container, among them those of its CDI devices."""
        lines = self.run("env", container=container).splitlines()
        return dict(line.partition("=")[::2] for line in lines if "=" in line)

    def finish(self) -> None:
        """Let its first container end, as a pod of :class:`UserPods` does when it is asked to."""
        with suppress(AssertionError):
            self.run("kill", "1")
        ended = ("Succeeded", "Failed", "")
        if not poll(lambda: self.phase in ended, Deadline.after(GONE_S), every_s=EVERY_S):
            raise AssertionError(f"{self} does not end")


class UserPods:
    """Makes pods in one namespace for one test. A context manager: at its end they are gone.

    Args:
        client: the suite's own identity.
        claims: what they ask for.
        allocator: what gives them devices.
        image: of their container.
    """

    def __init__(
        self, client: Client, claims: UserClaims, allocator: Allocator, *, image: str
    ) -> None:
        self.namespace = claims.namespace
        self.claim = claims
        self.template = claims.template
        self._client = client
        self._allocator = allocator
        self._image = image
        self._made: list[UserPod] = []

    def __enter__(self) -> UserPods:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pod in self._made:
            pod.delete(wait=False)
        for pod in self._made:
            try:
                pod.wait_gone()
            except AssertionError:
                if error is None:
                    raise

    def __call__(
        self,
        *,
        count: int = 1,
        selector: str = "",
        claim: str = "",
        config: Sequence[Json] = (),
        manifest: Json | None = None,
        wait: bool = True,
    ) -> UserPod:
        """Make a pod; arguments as those of :class:`pytest_dra.bench.pods.Pods`.

        Raises:
            AssertionError: it does not run.
        """
        if manifest is None:
            source = {"resourceClaimName": claim}
            if not claim:
                source = {"resourceClaimTemplateName": self.template(count, selector, config)}
            manifest = self._manifest(source)
        made = self._client.create(resources.PODS, manifest, namespace=self.namespace)
        pod = UserPod(made, client=self._client, allocator=self._allocator)
        self._made.append(pod)
        return pod.wait_running() if wait else pod

    def _manifest(self, source: Json) -> Json:
        container = {
            "name": CONTAINER,
            "image": self._image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", STAY],
            "resources": {"claims": [{"name": CLAIM}]},
        }
        return {
            "metadata": {"generateName": "pod-"},
            "spec": {
                "schedulerName": self._allocator.scheduler,
                "terminationGracePeriodSeconds": GRACE_S,
                "restartPolicy": "Never",
                "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
                "containers": [container],
                "resourceClaims": [{"name": CLAIM, **source}],
            },
        }
