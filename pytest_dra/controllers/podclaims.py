"""The claims of a pod: their names, whose they are, and how long the pod needs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_dra.api import resources
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling.cluster import ENDED
from pytest_dra.spec import Json

NAME_BASE_MAX: Final = 57
"""Characters of a claim's name before the random part, which has a hyphen and five."""


def entries(pod: Json) -> list[Json]:
    """The entries of a pod's ``spec.resourceClaims``."""
    found: list[Json] = (pod.get("spec") or {}).get("resourceClaims") or []
    return found


def name_of(pod: Json, entry: Json) -> str | None:
    """Name of the claim of an entry; "" if none is needed, None if it is not made yet."""
    given = entry.get("resourceClaimName")
    if given:
        return str(given)
    for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if status.get("name") == entry.get("name"):
            return str(status.get("resourceClaimName") or "")
    return None


def are_made(pod: Json) -> bool:
    """False as long as a claim of a pod has still to be made of its template."""
    return all(name_of(pod, one) is not None for one in entries(pod))


def named_entries(pod: Json) -> Iterator[tuple[str, bool, Json | None]]:
    """Names of all claims of a pod, whether the pod has to own them, and their entries.

    Those of its extended resources are among them, without an entry.
    """
    for entry in entries(pod):
        name = name_of(pod, entry)
        if name:
            yield name, not entry.get("resourceClaimName"), entry
    extended = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    if extended.get("resourceClaimName"):
        yield str(extended["resourceClaimName"]), True, None


def names_of(pod: Json) -> Iterator[tuple[str, bool]]:
    """Names of all claims of a pod, and whether the pod has to own them."""
    return ((name, owned) for name, owned, _ in named_entries(pod))


def reference_to(holder: Json) -> Json:
    """The owner reference in a claim that is made for a pod or for a group of pods."""
    of_group = holder.get("kind") == consumers.POD_GROUP
    meta = holder["metadata"]
    return {
        "apiVersion": resources.POD_GROUPS.api_version if of_group else "v1",
        "kind": consumers.POD_GROUP if of_group else "Pod",
        "name": meta["name"],
        "uid": meta.get("uid") or "",
        "controller": True,
    }


def owner_of(claim: Json) -> tuple[str, str]:
    """Name and uid of the pod that controls a claim; empty if none does."""
    owner = consumers.owner(claim)
    return (str(owner["name"]), str(owner["uid"])) if _is_pod(owner) else ("", "")


def _is_pod(reference: Json) -> bool:
    return (reference.get("apiVersion"), reference.get("kind")) == ("v1", "Pod")


def is_of(claim: Json, holder: Json) -> bool:
    """True if a pod, the group that it is in, or a group itself controls a claim."""
    owner = consumers.owner(claim)
    if _is_pod(owner) or consumers.refers_to_group(owner):
        uid = holder["metadata"].get("uid")
        return owner.get("uid") == uid or consumers.is_of_group(claim, holder)
    return False


def is_done(pod: Json) -> bool:
    """True if no container of a pod runs or ever will."""
    meta = pod["metadata"]
    gone = meta.get("deletionTimestamp") and not (pod.get("spec") or {}).get("nodeName")
    return (pod.get("status") or {}).get("phase") in ENDED or bool(gone)


def name_base(pod: str, entry: str) -> str:
    """What the name of a claim begins with that is made for an entry of a pod.

    Where both names are too long together each is cut by the same part of its length, so that
    something of the entry's is left.
    """
    whole = f"{pod}-{entry}-"
    if len(whole) <= NAME_BASE_MAX:
        return whole

    def cut(text: str) -> str:
        return text[: len(text) * NAME_BASE_MAX // len(whole)]

    return f"{cut(pod)}-{cut(entry)}"
