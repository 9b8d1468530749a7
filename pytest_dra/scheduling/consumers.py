"""For whom claims are reserved: pods, or the groups of pods that share a claim.

An entry of a pod is its group's if the group has the same one: same name, same claim or template.
Source: ``k8s.io/dynamic-resource-allocation/resourceclaim`` of 1.37.2, read; gate
DRAWorkloadResourceClaims.
"""

from __future__ import annotations

from typing import Any
from typing import Final

Json = dict[str, Any]

GROUP: Final = "scheduling.k8s.io"
"""API group of pod groups."""

POD_GROUPS: Final = "podgroups"
"""Resource of consumers that are groups of pods."""

POD_GROUP: Final = "PodGroup"

_SAME: Final = ("name", "resourceClaimName", "resourceClaimTemplateName")


def group_name(pod: Json) -> str:
    """The name of the group of a pod, "" if it is in none."""
    group = (pod.get("spec") or {}).get("schedulingGroup") or {}
    return str(group.get("podGroupName") or "")


def shares(entry: Json, group: Json | None) -> bool:
    """True if an entry of a pod's claims is one of its group."""
    spec = (group or {}).get("spec") or {}
    return any(
        all(one.get(key) == entry.get(key) for key in _SAME)
        for one in spec.get("resourceClaims") or ()
    )


def of(pod: Json, entry: Json | None = None, group: Json | None = None) -> Json:
    """The consumer of a claim of a pod: the group, if the entry is one of it, or the pod."""
    if entry is not None and group is not None and shares(entry, group):
        return {"apiGroup": GROUP, "resource": POD_GROUPS, **_named(group)}
    return {"resource": "pods", **_named(pod)}


def _named(item: Json) -> Json:
    meta = item.get("metadata") or {}
    uid = {"uid": meta["uid"]} if meta.get("uid") else {}
    return {"name": meta.get("name"), **uid}


def is_group(consumer: Json) -> bool:
    """True for a group of pods."""
    return consumer.get("apiGroup") == GROUP and consumer.get("resource") == POD_GROUPS


def is_reserved(claim: Json, pod: Json, *, groups: bool) -> bool:
    """True if a claim is reserved for a pod or, ``groups``, for the group that it is in."""
    own = of(pod)
    name = group_name(pod)
    for one in (claim.get("status") or {}).get("reservedFor") or ():
        if is_group(one):
            if groups and name and one.get("name") == name:
                return True
        elif one.get("uid") == own.get("uid") and one.get("name") == own["name"]:
            return True
    return False


def owner(item: Json) -> Json:
    """The owner reference of a controller, empty if there is none."""
    for one in (item.get("metadata") or {}).get("ownerReferences") or ():
        if one.get("controller"):
            found: Json = one
            return found
    return {}


def is_of_group(claim: Json, pod: Json) -> bool:
    """True if the group of a pod controls a claim. Pods know no more than the group's name."""
    found = owner(claim)
    return refers_to_group(found) and found.get("name") == group_name(pod)


def refers_to_group(reference: Json) -> bool:
    """True for a reference to a group of pods, of whatever version."""
    version = str(reference.get("apiVersion"))
    return reference.get("kind") == POD_GROUP and version.startswith(f"{GROUP}/")


def why_foreign(claim: Json, pod: Json, *, groups: bool) -> str:
    """Why a claim that was made of a template is not for a pod, "" if it is.

    One without an owner was written by hand, and is taken for the pod's.
    """
    found, meta = owner(claim), pod.get("metadata") or {}
    if not found or not meta.get("uid") or found.get("uid") == meta["uid"]:
        return ""
    name = (claim.get("metadata") or {}).get("name")
    if groups and is_of_group(claim, pod):
        return ""
    return f"claim {name} was made for {found.get('kind')} {found.get('name')}, not for the pod"
