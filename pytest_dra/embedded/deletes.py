"""DELETE: preconditions, finalizers, grace, and what goes with a namespace or an owner."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

from pytest_dra.embedded import errors
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.metadata import GC_FINALIZERS
from pytest_dra.embedded.options import DeleteOptions
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

PROTECTED: Final = ("default", "kube-system", "kube-public")
"""Namespaces that cannot be deleted."""

_POLICY_FINALIZER: Final = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


@dataclasses.dataclass(frozen=True, slots=True)
class Deleted:
    """The outcome: ``state`` as it is shown, ``marked`` if finalizers or grace keep the object."""

    state: Snapshot
    marked: bool


Admit = Callable[[Snapshot], None]
"""Refuses the deletion of an object by an ApiError."""


def delete(
    store: Store, kind: Kind, namespace: str, name: str, options: DeleteOptions, admit: Admit
) -> Deleted:
    """Delete an object, or mark it if finalizers or a grace period hold it.

    Raises:
        ApiError: 403, 404 or 409.
    """
    old = store.get(kind.storage, namespace, name)
    if old is None:
        raise errors.not_found(kind.resource, name)
    check_preconditions(kind, old, options)
    if kind.type == "core.Namespace" and name in PROTECTED:
        raise errors.forbidden(kind.resource, name, "this namespace may not be deleted")
    admit(old)
    return delete_state(store, kind, old, options)


def delete_state(store: Store, kind: Kind, old: Snapshot, options: DeleteOptions) -> Deleted:
    """Delete the given state, whose preconditions have been checked."""
    meta = old.lean["metadata"]
    finalizers = list(meta.get("finalizers") or [])
    extra = _POLICY_FINALIZER.get(options.policy)
    if options.policy and kind.strategy.collected:
        # the last word about dependents replaces earlier ones
        finalizers = [name for name in finalizers if name not in GC_FINALIZERS or name == extra]
        if extra and extra not in finalizers:
            finalizers.append(extra)
    grace_s = _grace_s(kind, old.lean, options)
    if not finalizers and not grace_s and kind.type != "core.Namespace":
        if kind.type == "core.Pod":
            return Deleted(_pod_gone(store, kind, old, options), marked=False)
        if options.dry_run:
            return Deleted(old, marked=False)
        return Deleted(remove(store, kind, old), marked=False)
    marked = _mark(old.object, finalizers, grace_s)
    if marked == old.object:
        return Deleted(old, marked=True)
    if options.dry_run:
        return Deleted(Snapshot(marked, old.rv), marked=True)
    state = store.put(kind.storage, marked)
    if kind.type == "core.Namespace":
        empty_namespace(store, kind, state)
    return Deleted(state, marked=True)


def _mark(obj: Json, finalizers: list[str], grace_s: int) -> Json:
    meta = dict(obj["metadata"])
    if finalizers:
        meta["finalizers"] = finalizers
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = now()
        if "generation" in meta:
            meta["generation"] += 1
    out = {**obj, "metadata": meta}
    if "phase" in (obj.get("status") or {}) and "finalizers" in (obj.get("spec") or {}):
        out["status"] = {**obj["status"], "phase": "Terminating"}
    else:
        meta.setdefault("deletionGracePeriodSeconds", grace_s)
        meta["deletionGracePeriodSeconds"] = min(meta["deletionGracePeriodSeconds"], grace_s)
    return out


def _grace_s(kind: Kind, obj: Json, options: DeleteOptions) -> int:
    if kind.type != "core.Pod" or not obj["spec"].get("nodeName"):
        return 0
    if obj["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    wanted = options.grace_s
    if wanted is None:
        wanted = obj["spec"].get("terminationGracePeriodSeconds", 0)
    return max(0, int(wanted))


def _pod_gone(store: Store, kind: Kind, old: Snapshot, options: DeleteOptions) -> Snapshot:
    meta = {
        **old.object["metadata"],
        "deletionGracePeriodSeconds": 0,
        "deletionTimestamp": old.object["metadata"].get("deletionTimestamp") or now(),
    }
    if "deletionTimestamp" not in old.object["metadata"] and "generation" in meta:
        meta["generation"] += 1
    rv = old.rv
    if not options.dry_run:
        rv = remove(store, kind, old).rv
        meta["resourceVersion"] = str(rv)
    return Snapshot({**old.object, "metadata": meta}, rv)


def check_preconditions(kind: Kind, old: Snapshot, options: DeleteOptions) -> None:
    """Uid and version of a deletion are those of the object.

    Raises:
        ApiError: 409.
    """
    uid = old.lean["metadata"]["uid"]
    if options.uid is not None and options.uid != uid:
        raise errors.precondition_failed(
            kind.blamed,
            old.name,
            f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {uid}",
        )
    if options.version is not None and options.version != str(old.rv):
        raise errors.precondition_failed(
            kind.blamed,
            old.name,
            f"Precondition failed: ResourceVersion in precondition: {options.version}, "
            f"ResourceVersion in object meta: {old.rv}",
        )


def may_go(kind: Kind, obj: Json) -> bool:
    """True if nothing but finalizers held a marked object."""
    if kind.type == "core.Namespace":
        return not (obj["spec"].get("finalizers") or [])
    return not obj["metadata"].get("deletionGracePeriodSeconds")


def remove(store: Store, kind: Kind, old: Snapshot) -> Snapshot:
    """Take an object out of the store; a namespace that waited for it may go too."""
    return take(store, kind.storage, old)


def take(store: Store, stored: str, old: Snapshot) -> Snapshot:
    """Take an object of a stored kind out of the store, and what it was the last owner of."""
    gone = store.remove(stored, (old.namespace, old.name))
    for dependent_kind, dependent in store.orphaned_by(old.lean["metadata"]["uid"]):
        drop(store, dependent_kind, dependent)
    if old.namespace:
        _finish_namespace(store, old.namespace)
    return gone


def drop(store: Store, stored: str, state: Snapshot) -> None:
    """Delete what belonged to something that is gone; finalizers still hold it."""
    meta = state.lean["metadata"]
    if not meta.get("finalizers"):
        take(store, stored, state)
    elif "deletionTimestamp" not in meta:
        store.put(stored, _mark(state.object, list(meta["finalizers"]), 0))


def empty_namespace(store: Store, kind: Kind, namespace: Snapshot) -> None:
    """Delete all in a terminating namespace, then itself unless finalizers hold something."""
    for stored in store.kinds():
        for found in store.sorted(stored, namespace.name):
            # an earlier one may have taken it along
            if store.get(stored, found.namespace, found.name) is found:
                drop(store, stored, found)
    _finish_namespace(store, namespace.name)


def _finish_namespace(store: Store, name: str) -> None:
    found = store.get("core.Namespace", "", name)
    if found is None or "deletionTimestamp" not in found.object["metadata"]:
        return
    if found.object["metadata"].get("finalizers"):
        return
    if not store.uses(name):
        store.remove("core.Namespace", ("", name))


def status_of(kind: Kind, state: Snapshot) -> Json:
    """The Status that answers the deletion of kinds that do not return the object."""
    shown = {
        "name": state.name,
        "group": kind.resource.group,
        "kind": kind.resource.plural,
        "uid": state.lean["metadata"]["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in shown.items() if value},
    }
