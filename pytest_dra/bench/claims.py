"""Claims as a driver meets them: created, allocated and reserved, without a scheduler.

A case says which devices a claim holds, and how it asks for them; the allocation is written to
the claim's status exactly as the scheduler would write it.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.api.resources import DEVICE_CLASSES
from pytest_dra.api.resources import NAMESPACES
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.resources import Resource
from pytest_dra.bench.configuring import FROM_CLAIM
from pytest_dra.bench.configuring import FROM_CLASS
from pytest_dra.bench.devices import Device
from pytest_dra.kube import CONFLICT
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json
from pytest_dra.wire.answers import ClaimRef

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
"""What a namespace needs for claims with access for administrators (contract 7.3)."""

CONFLICTS = 10
"""Times that a status is written, where a driver writes beside us: it does so a few times at
most."""

DECOY_DRIVER = "decoy.example.com"
"""A second driver that does not exist, for claims that hold devices of two drivers."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A ResourceClaim of the suite; ``results`` are its allocation results, if it has any."""

    namespace: str
    name: str
    uid: str
    requests: tuple[str, ...]
    results: tuple[Json, ...] = ()

    @property
    def ref(self) -> ClaimRef:
        """What a kubelet puts into a call."""
        return ClaimRef(namespace=self.namespace, uid=self.uid, name=self.name)

    def pairs(self, driver: str) -> set[tuple[str, str]]:
        """(pool, device) of the results of one driver."""
        return {(r["pool"], r["device"]) for r in self.results if r["driver"] == driver}

    def __str__(self) -> str:
        return f"claim {self.namespace}/{self.name} (uid {self.uid})"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What one request of a claim asks for and gets.

    ``devices`` are the driver's devices that the allocation gives to it, for the first one of its
    ``alternatives`` if it is a prioritized list. ``admin``: with access for administrators.
    ``capacity``: what is asked of a device that several claims may have a share of.
    """

    request: str
    devices: tuple[Device, ...]
    mode: str = "ExactCount"
    alternatives: tuple[str, ...] = ()
    admin: bool = False
    capacity: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def named(self) -> str:
        """How an allocation result names it."""
        return f"{self.request}/{self.alternatives[0]}" if self.alternatives else self.request


class Claims:
    """Makes claims and takes them away again; everything made is remembered until it is deleted."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        class_name: str,
        class_config: Callable[[], Sequence[Json]] = tuple,
    ) -> None:
        self._client = client
        self._class_config = class_config
        self._class_name = class_name
        self.namespace = namespace
        self.admin_namespace = f"{namespace}-admin"
        self._namespaces: set[str] = set()
        self._class_made = False
        self._made: dict[str, Claim] = {}

    @property
    def living(self) -> tuple[Claim, ...]:
        """Claims that have not been deleted."""
        return tuple(self._made.values())

    def create(
        self,
        wanted: Sequence[Wanted],
        *,
        name: str | None = None,
        namespace: str | None = None,
        config: Sequence[Json] = (),
        metadata: Json | None = None,
    ) -> Claim:
        """A claim without allocation; ``metadata`` are further fields of the object's."""
        admin = any(each.admin for each in wanted)
        space = namespace or (self.admin_namespace if admin else self.namespace)
        self._prepare_space(space)
        spec: Json = {"devices": {"requests": [self._request(each) for each in wanted]}}
        own = [_of_claim(entry) for entry in config if entry.get("source") != FROM_CLASS]
        if own:
            spec["devices"]["config"] = own
        chosen = name or f"claim-{uuid.uuid4().hex[:8]}"
        made = self._client.create(
            RESOURCE_CLAIMS,
            {"metadata": {**(metadata or {}), "name": chosen, "namespace": space}, "spec": spec},
            namespace=space,
        )
        claim = Claim(
            namespace=space,
            name=chosen,
            uid=made["metadata"]["uid"],
            requests=tuple(each.request for each in wanted),
        )
        self._made[claim.uid] = claim
        return claim

    def allocate(
        self,
        claim: Claim,
        results: Sequence[Json],
        *,
        node: str,
        config: Sequence[Json] = (),
        bare: bool = False,
    ) -> Claim:
        """Write allocation and reservation to the claim's status.

        ``config`` are entries of the claim's ``spec.devices.config``, which become ``FromClaim``
        unless their ``source`` says otherwise. ``bare``: without what the class brings.
        """
        devices: Json = {"results": list(results)}
        entries = [*(() if bare else self._class_config()), *config]
        if entries:
            devices["config"] = [
                {"source": FROM_CLAIM, "requests": [], **entry} for entry in entries
            ]
        allocation = {"devices": devices, "nodeSelector": _only(node)}
        reserved = {"resource": "pods", "name": f"pod-{claim.name[:40]}", "uid": str(uuid.uuid4())}
        self.write_status(
            claim, lambda status: {"allocation": allocation, "reservedFor": [reserved]}
        )
        allocated = dataclasses.replace(claim, results=tuple(results))
        self._made[claim.uid] = allocated
        return allocated

    def deallocate(self, claim: Claim) -> Claim:
        """Take allocation and reservation away, as the controller does for an unused claim."""
        self.write_status(claim, lambda status: {})
        freed = dataclasses.replace(claim, results=())
        self._made[claim.uid] = freed
        return freed

    def reserve(self, claim: Claim, consumers: Sequence[Json]) -> None:
        """Let the claim be reserved for exactly these consumers (entries of ``reservedFor``)."""
        self.write_status(claim, lambda status: {**status, "reservedFor": list(consumers)})

    def write_status(self, claim: Claim, change: Callable[[Json], Json]) -> None:
        """Change the claim's status; done again where the driver has written in between.

        Raises:
            KubeError: it cannot be written.
        """
        for left in reversed(range(CONFLICTS)):
            current = self._client.get(RESOURCE_CLAIMS, claim.name, namespace=claim.namespace)
            current["status"] = change(current.get("status") or {})
            try:
                self._client.replace(
                    RESOURCE_CLAIMS, current, namespace=claim.namespace, subresource="status"
                )
            except KubeError as error:
                if error.code != CONFLICT or not left:
                    raise
            else:
                return

    def unknown(self) -> Claim:
        """A claim that neither the driver nor the API server has ever seen."""
        uid = str(uuid.uuid4())
        return Claim(namespace=self.namespace, name=f"unknown-{uid[:8]}", uid=uid, requests=())

    def delete(self, claim: Claim) -> None:
        """Delete the object; one that is gone already is fine."""
        try:
            self._client.delete(RESOURCE_CLAIMS, claim.name, namespace=claim.namespace)
        except KubeError as error:
            if error.code != 404:
                raise
        self._made.pop(claim.uid, None)

    def delete_all(self) -> None:
        """Delete every claim that is left."""
        for claim in self.living:
            self.delete(claim)

    def _request(self, wanted: Wanted) -> Json:
        asked: Json = {"deviceClassName": self._class_name, "allocationMode": wanted.mode}
        if wanted.mode == "ExactCount":
            asked["count"] = max(1, len(wanted.devices))
        if wanted.capacity:
            asked["capacity"] = {"requests": dict(wanted.capacity)}
        if wanted.alternatives:
            several = [{"name": name, **asked} for name in wanted.alternatives]
            return {"name": wanted.request, "firstAvailable": several}
        if wanted.admin:
            asked["adminAccess"] = True
        return {"name": wanted.request, "exactly": asked}

    def _prepare_space(self, space: str) -> None:
        if space not in self._namespaces:
            labels = {ADMIN_LABEL: "true"} if space == self.admin_namespace else {}
            self._create_unless_there(NAMESPACES, {"metadata": {"name": space, "labels": labels}})
            self._namespaces.add(space)
        if not self._class_made:
            body: Json = {"metadata": {"name": self._class_name}, "spec": {}}
            self._create_unless_there(DEVICE_CLASSES, body)
            self._class_made = True

    def _create_unless_there(self, resource: Resource, body: Json) -> None:
        try:
            self._client.create(resource, body)
        except KubeError as error:
            if error.reason != "AlreadyExists":
                raise


def results_of(wanted: Sequence[Wanted], *, driver: str) -> list[Json]:
    """Allocation results as the scheduler writes them, in the order of the requests."""
    return [
        {
            **result(each.named, device, driver=driver),
            **({"adminAccess": True} if each.admin else {}),
        }
        for each in wanted
        for device in each.devices
    ]


def result(request: str, device: Device, *, driver: str) -> Json:
    """One allocation result; a shared device gets a share id and its whole capacity."""
    made = exclusive(request, device, driver=driver)
    if device.spec.get("allowMultipleAllocations"):
        made["shareID"] = str(uuid.uuid4())
        capacity = device.spec.get("capacity") or {}
        made["consumedCapacity"] = {key: value["value"] for key, value in capacity.items()}
    return made


def exclusive(request: str, device: Device, *, driver: str) -> Json:
    """An allocation result of the whole device, whatever the device is."""
    return {"request": request, "driver": driver, "pool": device.pool, "device": device.name}


def decoy(request: str) -> Json:
    """An allocation result that belongs to another driver."""
    return {"request": request, "driver": DECOY_DRIVER, "pool": "decoy-pool", "device": "decoy-0"}


def _of_claim(entry: Json) -> Json:
    return {key: value for key, value in entry.items() if key != "source"}


def _only(node: str) -> Json:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}
