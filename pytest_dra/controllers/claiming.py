"""Claims of pods: made of templates, reserved, given back, and taken away when nobody needs them.

Facts: the resource claim controller of Kubernetes 1.37.
"""

from __future__ import annotations

import copy
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.controllers import allocations
from pytest_dra.controllers import podclaims
from pytest_dra.controllers.allocations import FINALIZER
from pytest_dra.controllers.events import WARNING
from pytest_dra.controllers.events import Events
from pytest_dra.controllers.looping import RETRY_S
from pytest_dra.controllers.looping import ControlLoop
from pytest_dra.controllers.looping import Within
from pytest_dra.controllers.looping import everywhere
from pytest_dra.controllers.looping import pause_after
from pytest_dra.controllers.looping import soonest
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling.cluster import Key
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.subjects import POD_CLAIM
from pytest_dra.spec import Json

COMPONENT: Final = "resource_claim"
"""The source of its events."""

FAILED: Final = "FailedResourceClaimCreation"
"""The reason of the event where a claim cannot be made."""

_LISTED: Final = (
    resources.PODS,
    resources.RESOURCE_CLAIMS,
    resources.RESOURCE_CLAIM_TEMPLATES,
)


class TemplateError(Exception):
    """A claim cannot be made of its template."""


class ClaimController(ControlLoop):
    """See the module. ``within``: where it acts; ``groups``: groups of pods may have claims."""

    def __init__(
        self, client: Client, *, within: Within = everywhere, groups: bool = False
    ) -> None:
        listed = (*_LISTED, resources.POD_GROUPS) if groups else _LISTED
        super().__init__(client, listed, optional=(resources.POD_GROUPS,), within=within)
        self._with_groups = groups
        self._groups: dict[Key, Json] = {}
        self._events = Events(client, COMPONENT)
        self._made: dict[tuple[str, str], str] = {}
        self._pods: dict[Key, Json] = {}
        self._claims: dict[Key, Json] = {}

    def round(self) -> float | None:
        """All groups of pods, all pods, then all claims."""
        if self._with_groups:
            self._groups = {key_of(one): one for one in self.objects(resources.POD_GROUPS)}
        self._pods = {key_of(one): one for one in self.objects(resources.PODS)}
        self._claims = {key_of(one): one for one in self.objects(resources.RESOURCE_CLAIMS)}
        holders = (*self._groups.values(), *self._pods.values())
        living = {str(one["metadata"].get("uid")) for one in holders}
        self._made = {key: name for key, name in self._made.items() if key[0] in living}
        pause: float | None = None
        for holder in holders:
            if not holder["metadata"].get("deletionTimestamp"):
                pause = soonest(pause, self._serve(holder))
        for claim in self._claims.values():
            try:
                self._tidy(claim)
            except KubeError as error:
                pause = soonest(pause, pause_after(error))
        return pause

    # pods

    def _serve(self, holder: Json) -> float | None:
        """Give a pod or a group the claims that it lacks; seconds until another attempt."""
        if podclaims.is_done(holder):
            return None
        try:
            self._make_claims(holder)
            self._reserve(holder)
        except TemplateError as error:
            self._events.tell(holder, WARNING, FAILED, str(error))
            return RETRY_S
        except KubeError as error:
            return pause_after(error)
        return None

    def _group_of(self, pod: Json) -> Json | None:
        name = consumers.group_name(pod)
        return self._groups.get((key_of(pod)[0], name)) if name else None

    def _make_claims(self, pod: Json) -> None:
        made: dict[str, str] = {}
        group = self._group_of(pod)
        for entry in podclaims.entries(pod):
            if not entry.get("resourceClaimTemplateName") or self._has(pod, entry):
                continue
            found = self._made_before(pod, entry)
            if not found and not consumers.shares(entry, group):
                found = self._make(pod, entry)
            # That of a group is made for the group, and then found.
            if found:
                made[entry["name"]] = found
        known = {
            one["name"]: one["resourceClaimName"]
            for one in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
            if one.get("resourceClaimName")
        }
        named = {**known, **made}
        if named == known:
            return
        statuses = [{"name": one, "resourceClaimName": named[one]} for one in sorted(named)]
        namespace, name = key_of(pod)
        body = {
            "metadata": {"uid": pod["metadata"].get("uid")},
            "status": {"resourceClaimStatuses": statuses},
        }
        of_group = pod.get("kind") == consumers.POD_GROUP
        resource = resources.POD_GROUPS if of_group else resources.PODS
        written = self.client.patch(resource, name, body, namespace=namespace, subresource="status")
        self.written(resource, written)

    def _has(self, pod: Json, entry: Json) -> bool:
        """True if an entry of a pod needs no claim, or has the one that its status names."""
        name = podclaims.name_of(pod, entry)
        if name is None:
            return False
        if name == "":
            return True
        claim = self._claims.get((key_of(pod)[0], name))
        if claim is None:
            # It may have been made a moment ago.
            return self._exists(pod, name)
        return podclaims.is_of(claim, pod)

    def _made_before(self, pod: Json, entry: Json) -> str:
        """Name of a claim that was made for an entry though its pod does not know; "" if none."""
        namespace, _ = key_of(pod)
        for key, claim in self._claims.items():
            annotations = claim["metadata"].get("annotations") or {}
            mine = key[0] == namespace and podclaims.is_of(claim, pod)
            if mine and annotations.get(POD_CLAIM) == entry["name"]:
                return key[1]
        name = self._made.get(_place(pod, entry), "")
        return name if name and self._exists(pod, name) else ""

    def _exists(self, pod: Json, name: str) -> bool:
        found = self._read(resources.RESOURCE_CLAIMS, key_of(pod)[0], name)
        return found is not None and podclaims.is_of(found, pod)

    def _make(self, pod: Json, entry: Json) -> str:
        namespace, _ = key_of(pod)
        wanted = entry["resourceClaimTemplateName"]
        template = next(
            (
                one
                for one in self.objects(resources.RESOURCE_CLAIM_TEMPLATES)
                if key_of(one) == (namespace, wanted)
            ),
            None,
        )
        where = f"PodResourceClaim {entry['name']}"
        if template is None:
            raise TemplateError(f'{where}: resource claim template "{wanted}": not found')
        body = _of_template(template, pod, entry)
        try:
            made = self.client.create(resources.RESOURCE_CLAIMS, body, namespace=namespace)
        except KubeError as error:
            if error.code and error.code < _TROUBLE:
                raise TemplateError(f"{where}: create ResourceClaim: {error}") from error
            raise
        found = str(made["metadata"]["name"])
        self._made[_place(pod, entry)] = found
        return found

    def _reserve(self, pod: Json) -> None:
        """A pod that was put on a node by somebody else than the scheduler gets its claims."""
        if not (pod.get("spec") or {}).get("nodeName"):
            return
        for name, owned, entry in podclaims.named_entries(pod):
            claim = self._claims.get((key_of(pod)[0], name))
            if claim is None or (owned and not podclaims.is_of(claim, pod)):
                continue
            if allocation_of(claim) is None or consumers.is_reserved(
                claim, pod, groups=self._with_groups
            ):
                continue
            used = (claim.get("status") or {}).get("reservedFor") or ()
            if len(used) < allocations.CONSUMERS_MAX:
                consumer = consumers.of(pod, entry, self._group_of(pod))
                self._took(allocations.write(self.client, claim, None, consumer))

    # claims

    def _tidy(self, claim: Json) -> None:
        """Take reservations, allocation, finalizer and claim away as far as nobody needs them."""
        meta = claim["metadata"]
        used = (claim.get("status") or {}).get("reservedFor") or []
        left = [one for one in used if self._is_needed(claim, one)]
        protected = FINALIZER in (meta.get("finalizers") or ())
        if len(left) < len(used):
            claim = self._give_back(claim, left, deallocate=protected and not left)
        elif protected and meta.get("deletionTimestamp") and not left:
            claim = self._give_back(claim, left, deallocate=True)
        if not left and not meta.get("deletionTimestamp") and self._is_orphaned(claim):
            namespace, name = key_of(claim)
            uid = str(meta.get("uid") or "")
            self.client.delete(resources.RESOURCE_CLAIMS, name, namespace=namespace, uid=uid)

    def _is_needed(self, claim: Json, consumer: Json) -> bool:
        """False for a pod that is gone or done, and for a group that is gone."""
        key = namespace, name = key_of(claim)[0], str(consumer.get("name"))
        if consumers.is_group(consumer) and self._with_groups:
            group = self._groups.get(key) or self._read(resources.POD_GROUPS, namespace, name)
            return group is not None and group["metadata"].get("uid") == consumer.get("uid")
        if consumer.get("apiGroup") or consumer.get("resource") != "pods":
            return True
        pod = self._pod(namespace, name)
        if pod is None or pod["metadata"].get("uid") != consumer.get("uid"):
            return False
        return not podclaims.is_done(pod)

    def _pod(self, namespace: str, name: str) -> Json | None:
        """A pod as it is known, or as the server has it where it is not known (yet)."""
        known = self._pods.get((namespace, name))
        return known or self._read(resources.PODS, namespace, name)

    def _read(self, resource: Resource, namespace: str, name: str) -> Json | None:
        """An object as the server has it, None if it has none."""
        try:
            return self.client.get(resource, name, namespace=namespace)
        except KubeError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def _give_back(self, claim: Json, left: list[Json], *, deallocate: bool) -> Json:
        """Write who still uses a claim; without an allocation nothing keeps it any more."""
        namespace, _ = key_of(claim)
        changed = copy.deepcopy(claim)
        status = changed.setdefault("status", {})
        had = copy.deepcopy(status)
        status.pop("reservedFor", None)
        if left:
            status["reservedFor"] = left
        if deallocate:
            status.pop("allocation", None)
        if status != had:
            changed = self._took(
                self.client.replace(
                    resources.RESOURCE_CLAIMS, changed, namespace=namespace, subresource="status"
                )
            )
        finalizers = changed["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers or allocation_of(changed) is not None:
            return changed
        meta = {**changed["metadata"], "finalizers": [x for x in finalizers if x != FINALIZER]}
        written = self.client.replace(
            resources.RESOURCE_CLAIMS, {**changed, "metadata": meta}, namespace=namespace
        )
        return self._took(written)

    def _is_orphaned(self, claim: Json) -> bool:
        """True if a claim was made for a pod that is gone, replaced, or done."""
        name, uid = podclaims.owner_of(claim)
        if not name:
            return False
        pod = self._pod(key_of(claim)[0], name)
        return pod is None or pod["metadata"].get("uid") != uid or podclaims.is_done(pod)

    def _took(self, claim: Json) -> Json:
        self.written(resources.RESOURCE_CLAIMS, claim)
        return claim


_TROUBLE: Final = 500
"""Answers from here on are no refusals."""


def _place(pod: Json, entry: Json) -> tuple[str, str]:
    return str(pod["metadata"].get("uid")), str(entry["name"])


def _of_template(template: Json, pod: Json, entry: Json) -> Json:
    """The claim that a template makes for an entry of a pod."""
    inner = template.get("spec") or {}
    given = inner.get("metadata") or {}
    made: Json = {
        "generateName": podclaims.name_base(pod["metadata"]["name"], entry["name"]),
        "annotations": {**(given.get("annotations") or {}), POD_CLAIM: entry["name"]},
        "ownerReferences": [podclaims.reference_to(pod)],
    }
    if given.get("labels"):
        made["labels"] = dict(given["labels"])
    return {"metadata": made, "spec": copy.deepcopy(inner.get("spec") or {})}
