"""What is to be scheduled: pods with the claims they use, or claims that no pod uses yet."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.scheduling import consumers
from pytest_dra.scheduling.cluster import ENDED
from pytest_dra.scheduling.cluster import Cluster
from pytest_dra.scheduling.cluster import Key
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.extended import wanted

Json = dict[str, Any]

POD: Final = "pod"
CLAIM: Final = "claim"
TEMPLATE: Final = "template"

POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was made from a template: which of its pod's claims it is."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """A pod, a claim, or a template that somebody may make a claim of.

    ``claims`` are in the order of the pod, those that would be made of templates among them;
    ``fresh`` are the names of those. ``extended`` are resources that classes stand for; ``fault``
    says why it cannot be scheduled at all. ``entries`` are the claims by the pod's own names of
    them, ``consumers`` those for which they are to be reserved.
    """

    kind: str
    key: Key
    claims: tuple[Json, ...] = ()
    pod: Json | None = None
    fresh: frozenset[Key] = frozenset()
    extended: tuple[str, ...] = ()
    fault: str = ""
    entries: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    consumers: Mapping[Key, Json] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """Kind, namespace and name."""
        return f"{self.kind} {'/'.join(self.key)}"

    @property
    def node(self) -> str:
        """The node that the pod has been put on, "" if none."""
        return str(((self.pod or {}).get("spec") or {}).get("nodeName") or "")

    @property
    def todo(self) -> list[Json]:
        """Claims that have no allocation yet."""
        return [one for one in self.claims if allocation_of(one) is None]


def of_pod(pod: Json, cluster: Cluster) -> Subject:
    """A pod with its claims."""
    namespace, _ = key = key_of(pod)
    found = _Claims(pod, cluster)
    fault = found.fault
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    if gates:
        fault = f"scheduling gate {gates[0].get('name')}"
    claims = list({key_of(one): one for one in found.entries.values()}.values())
    extended = wanted(pod, cluster.resources)
    if (pod.get("status") or {}).get("extendedResourceClaimStatus"):
        name = pod["status"]["extendedResourceClaimStatus"].get("resourceClaimName")
        made = cluster.claims.get((namespace, str(name)))
        if made is not None:
            claims.append(made)
            extended = []
    return Subject(
        kind=POD, key=key, claims=tuple(claims), pod=pod, fresh=frozenset(found.fresh),
        extended=tuple(extended), fault=fault, entries=found.entries, consumers=found.consumers,
    )  # fmt: skip


class _Claims:
    """The claims of a pod, by its entries."""

    def __init__(self, pod: Json, cluster: Cluster) -> None:
        self.entries: dict[str, Json] = {}
        self.consumers: dict[Key, Json] = {}
        self.fresh: set[Key] = set()
        self.fault = ""
        self._pod = pod
        self._cluster = cluster
        self._namespace = key_of(pod)[0]
        self._group = self._group_of(pod)
        for entry in (pod.get("spec") or {}).get("resourceClaims") or ():
            found = self._claim(entry)
            if found is not None:
                self.entries[str(entry.get("name"))] = found
                self.consumers[key_of(found)] = consumers.of(pod, entry, self._group)

    def _group_of(self, pod: Json) -> Json | None:
        if not self._cluster.group_claims:
            return None
        name = consumers.group_name(pod)
        found = self._cluster.groups.get((self._namespace, name)) if name else None
        if name and found is None and (pod.get("spec") or {}).get("resourceClaims"):
            self.fault = f"pod group {self._namespace}/{name} does not exist"
        return found

    def _claim(self, entry: Json) -> Json | None:
        """The claim of an entry, made of its template if it has to be; None if there is none."""
        name, template = entry.get("resourceClaimName"), entry.get("resourceClaimTemplateName")
        if name:
            return self._named(str(name))
        if not template:
            what = f"claim entry {entry.get('name')}"
            self._missing(f"{what}: names neither claim nor template")
            return None
        for holder in (self._pod, self._group if consumers.shares(entry, self._group) else None):
            for status in ((holder or {}).get("status") or {}).get("resourceClaimStatuses") or ():
                if status.get("name") == entry.get("name"):
                    made = status.get("resourceClaimName")
                    return self._made(str(made)) if made else None
        owned = self._owned(entry)
        if owned is not None:
            return owned
        source = self._cluster.templates.get((self._namespace, str(template)))
        if source is None:
            self._missing(f"template {self._namespace}/{template} does not exist")
            return None
        return self._fresh(entry, source)

    def _missing(self, why: str) -> None:
        self.fault = self.fault or why

    def _named(self, name: str) -> Json | None:
        found = self._cluster.claims.get((self._namespace, name))
        if found is None:
            self._missing(f"claim {self._namespace}/{name} does not exist")
        return found

    def _made(self, name: str) -> Json | None:
        found = self._named(name)
        if found is not None:
            groups = self._cluster.group_claims
            self.fault = self.fault or consumers.why_foreign(found, self._pod, groups=groups)
        return found

    def _owned(self, entry: Json) -> Json | None:
        """A claim that was made for an entry although no status says so yet."""
        holder = self._group if consumers.shares(entry, self._group) else self._pod
        uid = ((holder or {}).get("metadata") or {}).get("uid")
        if not uid:
            return None
        for key, claim in self._cluster.claims.items():
            meta = claim.get("metadata") or {}
            if key[0] != self._namespace:
                continue
            if (meta.get("annotations") or {}).get(POD_CLAIM) != entry.get("name"):
                continue
            if any(owner.get("uid") == uid for owner in meta.get("ownerReferences") or ()):
                return claim
        return None

    def _fresh(self, entry: Json, source: Json) -> Json:
        """A claim that would be made; the pods of a group have one together."""
        group = self._group if consumers.shares(entry, self._group) else None
        base = key_of(self._pod if group is None else group)[1]
        made = made_of(source, f"{base}-{entry.get('name')}")
        if group is not None:
            made = self._cluster.shared.setdefault(key_of(made), made)
        self.fresh.add(key_of(made))
        return made


def made_of(template: Json, name: str) -> Json:
    """The claim that is made of a template."""
    spec = template.get("spec") or {}
    meta = copy.deepcopy(spec.get("metadata") or {})
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {**meta, "name": name, "namespace": key_of(template)[0]},
        "spec": copy.deepcopy(spec.get("spec") or {}),
    }


def of_claim(claim: Json) -> Subject:
    """A claim by itself."""
    return Subject(kind=CLAIM, key=key_of(claim), claims=(claim,))


def of_template(template: Json) -> Subject:
    """A claim that would be made of a template."""
    key = key_of(template)
    made = made_of(template, key[1])
    return Subject(kind=TEMPLATE, key=key, claims=(made,), fresh=frozenset([key]))


def pending(cluster: Cluster) -> list[Subject]:
    """What a scheduler has to do, in the order of its queue, and claims that no pod uses.

    Templates count if there is nothing else.
    """
    pods = [of_pod(pod, cluster) for pod in cluster.pods.values()]
    used = {key_of(claim) for one in pods for claim in one.claims}
    waiting = [one for one in pods if _waits(one)]
    waiting.sort(key=rank)
    alone = [
        of_claim(claim)
        for key, claim in cluster.claims.items()
        if key not in used and allocation_of(claim) is None and not _deleted(claim)
    ]
    found = [*waiting, *alone]
    return found or ([] if pods or cluster.claims else list(templates(cluster)))


def templates(cluster: Cluster) -> Iterator[Subject]:
    """All templates."""
    return (of_template(one) for one in cluster.templates.values())


def _deleted(item: Json) -> bool:
    return bool((item.get("metadata") or {}).get("deletionTimestamp"))


def _waits(subject: Subject) -> bool:
    pod = subject.pod or {}
    if _deleted(pod) or (pod.get("status") or {}).get("phase") in ENDED:
        return False
    needs = bool(subject.claims or subject.extended or subject.fault)
    return needs and (not subject.node or bool(subject.todo))


def rank(subject: Subject) -> tuple[int, str]:
    """Place in the queue: priority, then age."""
    pod = subject.pod or {}
    priority = (pod.get("spec") or {}).get("priority") or 0
    return -priority, str((pod.get("metadata") or {}).get("creationTimestamp") or "")
