"""The claims of a pod: their names, whose they are, and how long the pod needs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

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


def names_of(pod: Json) -> Iterator[tuple[str, bool]]:
    """Names of all claims of a pod, and whether the pod has to own them.

    Those of its extended resources are among them.
    """
    for entry in entries(pod):
        name = name_of(pod, entry)
        if name:
            yield name, not entry.get("resourceClaimName")
    extended = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    if extended.get("resourceClaimName"):
        yield str(extended["resourceClaimName"]), True


def owner_of(claim: Json) -> tuple[str, str]:
    """Name and uid of the pod that controls a claim; empty if none does."""
    for owner in claim["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and owner.get("apiVersion") == "v1" and owner["kind"] == "Pod":
            return str(owner["name"]), str(owner["uid"])
    return "", ""


def is_of(claim: Json, pod: Json) -> bool:
    """True if a pod controls a claim."""
    return owner_of(claim)[1] == str(pod["metadata"].get("uid"))


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
