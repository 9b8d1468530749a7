"""What is to be scheduled: pods with the claims they use, or claims that no pod uses yet."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any
from typing import Final

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
    says why it cannot be scheduled at all.
    """

    kind: str
    key: Key
    claims: tuple[Json, ...] = ()
    pod: Json | None = None
    fresh: frozenset[Key] = frozenset()
    extended: tuple[str, ...] = ()
    fault: str = ""

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
    claims: list[Json] = []
    fresh: set[Key] = set()
    fault = ""
    for entry in (pod.get("spec") or {}).get("resourceClaims") or ():
        found, new, why = _claim(pod, namespace, entry, cluster)
        fault = fault or why
        if found is not None:
            claims.append(found)
            if new:
                fresh.add(key_of(found))
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    if gates:
        fault = f"scheduling gate {gates[0].get('name')}"
    claims = list({key_of(one): one for one in claims}.values())
    extended = wanted(pod, cluster.resources)
    if (pod.get("status") or {}).get("extendedResourceClaimStatus"):
        name = pod["status"]["extendedResourceClaimStatus"].get("resourceClaimName")
        made = cluster.claims.get((namespace, str(name)))
        if made is not None:
            claims.append(made)
            extended = []
    return Subject(
        kind=POD, key=key, claims=tuple(claims), pod=pod, fresh=frozenset(fresh),
        extended=tuple(extended), fault=fault,
    )  # fmt: skip


def _claim(
    pod: Json, namespace: str, entry: Json, cluster: Cluster
) -> tuple[Json | None, bool, str]:
    """A claim of a pod, whether it would have to be made first, and what is wrong."""
    name = entry.get("resourceClaimName")
    if name:
        found = cluster.claims.get((namespace, name))
        return found, False, "" if found else f"claim {namespace}/{name} does not exist"
    template = entry.get("resourceClaimTemplateName")
    if not template:
        return None, False, f"claim entry {entry.get('name')}: names neither claim nor template"
    for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if status.get("name") == entry.get("name"):
            made = status.get("resourceClaimName")
            if not made:
                return None, False, ""
            found = cluster.claims.get((namespace, made))
            return found, False, "" if found else f"claim {namespace}/{made} does not exist"
    owned = _owned(pod, namespace, str(entry.get("name")), cluster)
    if owned is not None:
        return owned, False, ""
    source = cluster.templates.get((namespace, template))
    if source is None:
        return None, False, f"template {namespace}/{template} does not exist"
    return made_of(source, f"{key_of(pod)[1]}-{entry.get('name')}"), True, ""


def _owned(pod: Json, namespace: str, entry: str, cluster: Cluster) -> Json | None:
    uid = (pod.get("metadata") or {}).get("uid")
    if not uid:
        return None
    for key, claim in cluster.claims.items():
        meta = claim.get("metadata") or {}
        if key[0] != namespace or (meta.get("annotations") or {}).get(POD_CLAIM) != entry:
            continue
        if any(owner.get("uid") == uid for owner in meta.get("ownerReferences") or ()):
            return claim
    return None


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
