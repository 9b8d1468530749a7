"""Pods of a user's test: made with a claim, waited for, looked into, and taken away again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from collections.abc import Sequence
from types import TracebackType
from typing import Final

from pytest_dra import cdi
from pytest_dra.api import resources
from pytest_dra.bench.allocating import Allocator
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.podagent import PodAgent
from pytest_dra.bench.userclaims import CLAIM
from pytest_dra.bench.userclaims import UserClaims
from pytest_dra.bench.userpod import ShownPod
from pytest_dra.controllers import podclaims
from pytest_dra.controllers.looping import Background
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.kubelet import KeptClaim
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

RUNNING_S: Final = 60.0
"""Longest wait for a pod to run: a call of the driver has 45 s."""

GONE_S: Final = 60.0
"""Longest wait for a pod, or its claims, to be gone."""

CREATE_S: Final = 10.0
"""Longest wait for the ServiceAccount of a new namespace, without which no pod can be made."""

CONTAINER: Final = "main"
_FORBIDDEN: Final = 403


class PodError(AssertionError):
    """A pod is not what the test wants it to be."""


class Pod(ShownPod):
    """A pod on the bench, whose node the kubelet stand-in is."""

    def __init__(
        self, made: Json, *, client: Client, agent: PodAgent, bench: Bench,
        allocator: Allocator,
    ) -> None:  # fmt: skip
        super().__init__(made, client=client, allocator=allocator)
        self._agent = agent
        self._bench = bench

    def wait_running(self, *, within_s: float = RUNNING_S) -> Pod:
        """Wait until its claims are prepared and it runs.

        Raises:
            PodError: it does not in that time; says what its events and the allocator say.
        """
        poll(lambda: self.phase == "Running" or self._allocator.failures, Deadline.after(within_s))
        if self.phase != "Running":
            raise PodError(self._why(within_s, *self._allocator.failures))
        return self

    def wait_gone(self, *, within_s: float = GONE_S) -> None:
        """Wait until it is deleted, and the claims that were made for it.

        Raises:
            PodError: it, or one of them, is still there.
        """
        deadline = Deadline.after(within_s)
        if not poll(lambda: self._seen() is None, deadline):
            raise PodError(f"{self} is not gone after {within_s:g} s\n{self._told()}")
        if not poll(lambda: not self._owned(), deadline, every_s=_LOOK_S):
            raise PodError(f"{self} is gone, but not its claims {', '.join(self._owned())}")

    def cdi_ids(self, container: str = "") -> list[str]:
        """The CDI ids that a container gets, in the order of its claims.

        Without a name it is the first container.
        """
        pod = self.read()
        part = self._container(pod, container)
        held = {one.claim.name: one for one in self._agent.claims_of(self.uid)}
        found: list[str] = []
        for use in (part.get("resources") or {}).get("claims") or ():
            entry = next(one for one in podclaims.entries(pod) if one["name"] == use["name"])
            claim = held.get(podclaims.name_of(pod, entry) or "")
            if claim is not None:
                found += _ids(claim, use.get("request") or "")
        extended = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
        claim = held.get(extended.get("resourceClaimName") or "")
        for mapping in extended.get("requestMappings") or ():
            if claim is not None and mapping.get("containerName") == part["name"]:
                found += _ids(claim, str(mapping.get("requestName")))
        return list(dict.fromkeys(found))

    def edits(self, container: str = "") -> Json:
        """What its CDI devices do to a container: merged ``containerEdits``.

        Raises:
            CdiError: an id is not defined in the node's CDI directories.
        """
        return self._bench.instance.cdi().resolve(self.cdi_ids(container)).edits

    def environment(self, container: str = "") -> dict[str, str]:
        """The variables that its CDI devices set in a container."""
        library = self._bench.instance.specs.library.value
        edits = {"env": self.edits(container).get("env") or []}
        spec = cdi.apply({}, cdi.Injection(edits), library=library)
        variables = (spec.get("process") or {}).get("env") or ()
        return dict(one.partition("=")[::2] for one in variables)

    def finish(self, phase: str = "Succeeded") -> None:
        """Let its containers end; its claims are unprepared and given back then."""
        self._agent.finish(self.uid, phase)
        if not poll(lambda: self.phase in (phase, ""), Deadline.after(GONE_S)):
            raise PodError(f"{self} does not end\n{self._told()}")

    def _seen(self) -> Json | None:
        for one in self._agent.objects(resources.PODS):
            if one["metadata"].get("uid") == self.uid:
                return one
        return None

    def _owned(self) -> list[str]:
        found = self._client.list(resources.RESOURCE_CLAIMS, namespace=self.namespace)
        return [
            str(one["metadata"]["name"]) for one in found if podclaims.owner_of(one)[1] == self.uid
        ]

    def _container(self, pod: Json, name: str) -> Json:
        spec = pod["spec"]
        parts: list[Json] = [*spec["containers"], *(spec.get("initContainers") or ())]
        if not name:
            return parts[0]
        for one in parts:
            if one["name"] == name:
                return one
        raise PodError(f"{self} has no container {name!r}")


_LOOK_S: Final = 0.05
"""Pause between two looks that are requests."""


def _ids(held: KeptClaim, request: str) -> list[str]:
    """CDI ids of a claim for one of its requests, or for all."""
    return [
        id
        for devices in held.drivers.values()
        for device in devices or ()
        if not request or not device.request_names or request in device.request_names
        for id in device.cdi_device_ids
    ]


class Pods:
    """Makes pods in one namespace for one test. A context manager: at its end they are gone.

    Called without arguments it makes a pod with a claim for one device of the driver under test,
    by a ResourceClaimTemplate, and waits until it runs.
    """

    def __init__(self, bench: Bench, allocator: Allocator, claims: UserClaims) -> None:
        self.namespace = claims.namespace
        self._claims = claims
        self._bench = bench
        self._allocator = allocator
        self._client = Client(bench.cluster.admin_kubeconfig())
        self._agent = PodAgent(self._client, bench.instance, within=allocator.acts_in)
        self._background = Background((self._agent,))
        self._made: list[Pod] = []

    def __enter__(self) -> Pods:
        self._background.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._take_away()
        except PodError:
            # What is prepared stays so: nobody else should meet this process.
            self._bench.spoiled("a pod of a test could not be taken away")
            if error is None:
                raise
        finally:
            self._background.__exit__(kind, error, trace)
            self._client.close()

    def __call__(
        self,
        *,
        count: int = 1,
        selector: str = "",
        claim: str = "",
        config: Sequence[Json] = (),
        manifest: Json | None = None,
        wait: bool = True,
    ) -> Pod:
        """Make a pod.

        Args:
            count: devices that its claim asks for.
            selector: CEL expression that these have to match.
            claim: an existing ResourceClaim of the namespace instead of a new one.
            config: entries of the claim's ``spec.devices.config``.
            manifest: a Pod of your own instead of all that; made in the test's namespace.
            wait: until it runs.

        Raises:
            PodError: it does not.
        """
        if manifest is None:
            source = {"resourceClaimName": claim}
            if not claim:
                source = {"resourceClaimTemplateName": self.template(count, selector, config)}
            manifest = _manifest(source)
        body = {**manifest, "metadata": dict(manifest.get("metadata") or {})}
        body["metadata"]["namespace"] = self.namespace
        made = self._create(body)
        pod = Pod(
            made,
            client=self._client,
            agent=self._agent,
            bench=self._bench,
            allocator=self._allocator,
        )
        self._made.append(pod)
        poll(lambda: pod.phase, Deadline.after(CREATE_S))
        return pod.wait_running() if wait else pod

    def template(self, count: int = 1, selector: str = "", config: Sequence[Json] = ()) -> str:
        """Name of a new ResourceClaimTemplate for devices of the driver under test."""
        return self._claims.template(count, selector, config)

    def claim(self, count: int = 1, selector: str = "", config: Sequence[Json] = ()) -> str:
        """Name of a new ResourceClaim, which several pods can share."""
        return self._claims(count, selector, config)

    def _create(self, body: Json) -> Json:
        create: Callable[[], Json | None] = functools.partial(self._try_create, body)
        made = poll(create, Deadline.after(CREATE_S), every_s=_LOOK_S)
        if made is None:
            return self._client.create(resources.PODS, body, namespace=self.namespace)
        return made

    def _try_create(self, body: Json) -> Json | None:
        """The ServiceAccount of a new namespace is made a moment after it."""
        try:
            return self._client.create(resources.PODS, body, namespace=self.namespace)
        except KubeError as error:
            if error.code == _FORBIDDEN and "service account" in str(error):
                return None
            raise

    def _take_away(self) -> None:
        for pod in self._made:
            pod.delete(wait=False)
        for pod in self._made:
            pod.wait_gone()


def _manifest(source: Json) -> Json:
    container = {
        "name": CONTAINER,
        "image": "registry.example/none",
        "resources": {"claims": [{"name": CLAIM}]},
    }
    return {
        "metadata": {"generateName": "pod-"},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "resourceClaims": [{"name": CLAIM, **source}],
        },
    }
