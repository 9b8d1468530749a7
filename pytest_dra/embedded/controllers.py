"""What controllers of a cluster do soon after a write: collecting garbage, accounts of namespaces.

Deletions that wait for their dependents (``foregroundDeletion``) or leave them behind (``orphan``)
are finished, and a new namespace gets its ``default`` ServiceAccount. Without a policy, dependents
go with their last owner at once (``deletes``), with or without controllers.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Final

from pytest_dra.embedded import deletes
from pytest_dra.embedded import typed
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.store import Change
from pytest_dra.embedded.store import Key
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

SOON_S: Final = 0.05
"""After a write: the real collector takes about 0.1 s."""

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

_NAMESPACE: Final = "core.Namespace"
_ACCOUNT: Final = "core.ServiceAccount"
_NAME: Final = "default"


class Controllers:
    """Looks at each write of a store; works in the loop that writes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, tuple[str, Key]] = {}
        store.listeners.append(self._changed)

    def _changed(self, kind: str, change: Change) -> None:
        state = change.new or change.old
        if state is None:
            return
        key = (state.namespace, state.name)
        if change.new is None:
            for owner in state.lean["metadata"].get("ownerReferences") or ():
                if owner["uid"] in self._waiting:
                    self._soon(*self._waiting[owner["uid"]])
        elif _collected(state) or (kind == _NAMESPACE and change.old is None):
            self._soon(kind, key)

    def _soon(self, kind: str, key: Key) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # Before the server has started: the first namespaces come with their accounts.
            return
        loop.call_later(SOON_S, self._work, kind, key)

    def _work(self, kind: str, key: Key) -> None:
        state = self._store.get(kind, *key)
        if state is None:
            return
        if kind == _NAMESPACE and "deletionTimestamp" not in state.lean["metadata"]:
            self._make_account(state.name)
        elif _collected(state):
            self._collect(kind, key, state)

    def _make_account(self, namespace: str) -> None:
        if self._store.get(_ACCOUNT, namespace, _NAME) is None:
            self._store.put(_ACCOUNT, new_account(namespace))

    def _collect(self, kind: str, key: Key, state: Snapshot) -> None:
        meta = state.object["metadata"]
        if ORPHAN in meta["finalizers"]:
            for dependent_kind, dependent in self._store.owned_by(meta["uid"]):
                self._store.put(dependent_kind, _without_owner(dependent.object, meta["uid"]))
            self._release(kind, state, ORPHAN)
            return
        for dependent_kind, dependent in self._store.owned_by(meta["uid"]):
            if "deletionTimestamp" not in dependent.lean["metadata"]:
                deletes.drop(self._store, dependent_kind, dependent)
        if any(_blocks(each, meta["uid"]) for _, each in self._store.owned_by(meta["uid"])):
            self._waiting[meta["uid"]] = (kind, key)
            return
        self._waiting.pop(meta["uid"], None)
        self._release(kind, state, FOREGROUND)

    def _release(self, kind: str, state: Snapshot, finalizer: str) -> None:
        meta = state.object["metadata"]
        left = [each for each in meta["finalizers"] if each != finalizer]
        if left or kind == _NAMESPACE or meta.get("deletionGracePeriodSeconds"):
            changed = {name: value for name, value in meta.items() if name != "finalizers"}
            if left:
                changed["finalizers"] = left
            self._store.put(kind, {**state.object, "metadata": changed})
        else:
            deletes.take(self._store, kind, state)


def new_account(namespace: str) -> Json:
    """The ServiceAccount that every namespace has."""
    account = typed.empty(_ACCOUNT)
    account["metadata"] = {
        "name": _NAME,
        "namespace": namespace,
        "uid": str(uuid.uuid4()),
        "creationTimestamp": now(),
    }
    return account


def _collected(state: Snapshot) -> bool:
    meta = state.lean["metadata"]
    finalizers = meta.get("finalizers") or ()
    return "deletionTimestamp" in meta and (FOREGROUND in finalizers or ORPHAN in finalizers)


def _blocks(state: Snapshot, uid: str) -> bool:
    owners = state.lean["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in owners)


def _without_owner(obj: Json, uid: str) -> Json:
    meta = {name: value for name, value in obj["metadata"].items() if name != "ownerReferences"}
    left = [each for each in obj["metadata"].get("ownerReferences") or () if each["uid"] != uid]
    return {**obj, "metadata": {**meta, "ownerReferences": left} if left else meta}
