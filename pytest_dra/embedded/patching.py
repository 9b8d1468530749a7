"""PATCH: reading a patch, applying it, and writing the result as an update."""

from __future__ import annotations

import dataclasses
import json
from typing import Any
from typing import Final

from pytest_dra.embedded import errors
from pytest_dra.embedded import patches
from pytest_dra.embedded import raw
from pytest_dra.embedded import schemas
from pytest_dra.embedded import typed
from pytest_dra.embedded import writes
from pytest_dra.embedded.drafts import Draft
from pytest_dra.embedded.drafts import Target
from pytest_dra.embedded.drafts import incoming
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.managers import APPLY as APPLIED
from pytest_dra.embedded.managers import Managers
from pytest_dra.embedded.negotiation import Received
from pytest_dra.embedded.options import WriteOptions
from pytest_dra.embedded.scalars import is_number
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"

PATCH_TYPES: Final[tuple[str, ...]] = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
"""The patch media types of the API."""

CUSTOM_PATCH_TYPES: Final[tuple[str, ...]] = (JSON_PATCH, MERGE, APPLY)
"""Those for custom resources: there is no merge key in their types."""


def patch(
    store: Store,
    target: Target,
    patch_value: Any,
    media: str,
    options: WriteOptions,
    warnings: list[str],
) -> writes.Written:
    """Apply a decoded patch of one of the four types; unknown fields become ``warnings``.

    Raises:
        ApiError: 400, 404, 409, 415, 422 or 500.
    """
    kind = target.kind
    old = store.get(kind.storage, target.namespace, target.name)
    if media == APPLY:
        return _apply(store, target, patch_value, old, options, warnings)
    if old is None:
        raise errors.not_found(kind.resource, target.name)
    spell = raw.canonical if media == STRATEGIC else raw.compact
    shown = raw.rewritten(kind.shown(old), spell) if raw.has_raw(kind.type) else kind.shown(old)
    if media == JSON_PATCH:
        patched = patches.json_patch(shown, patch_value)
    elif not isinstance(patch_value, dict):
        raise bad_request("error decoding patch: want an object")
    elif media == MERGE:
        patched = patches.merge(shown, patch_value)
    else:
        patched = patches.strategic(kind.type, shown, patch_value)
        # it is not read as an object that says what it is
        patched |= {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version}
    return _patched(store, target, patched, old, options, warnings)


def _patched(
    store: Store,
    target: Target,
    patched: Json,
    old: Snapshot,
    options: WriteOptions,
    warnings: list[str],
    managers: Managers | None = None,
) -> writes.Written:
    applied = managers is not None
    draft = _read_patched(target, patched, options, warnings, applied=applied)
    draft = dataclasses.replace(draft, managers=managers)
    meta, before = draft.obj["metadata"], old.lean["metadata"]
    version = meta.get("resourceVersion", "")
    if meta.get("name", "") != target.name or (
        target.kind.resource.namespaced and meta.get("namespace", "") != target.namespace
    ):
        raise bad_request("the name or namespace of the object does not match the URL")
    writes.admit_node(target, draft.obj, old.lean)
    if version and version != str(old.rv):
        if not is_number(version):
            raise errors.internal(f"invalid resource version {version[:40]!r}")
        raise errors.conflict(target.kind.resource, target.name)
    if not version:
        writes.need_version(target)
    if meta.get("uid", "") != before["uid"]:
        raise writes.refused_uid(target, "field is immutable")
    # trying to move a deletion is ignored, but counts as a write
    moved = "deletionTimestamp" in before and (
        meta.get("deletionTimestamp") != before["deletionTimestamp"]
    )
    return writes.replace(store, target, draft, old, options, force=moved)


def _read_patched(
    target: Target,
    patched: Json,
    options: WriteOptions,
    warnings: list[str],
    *,
    applied: bool,
) -> Draft:
    kind = target.kind
    resource = kind.resource
    wanted = {"kind": resource.kind, "apiVersion": resource.api_version}
    if any((patched.get(name) or text) != text for name, text in wanted.items()):
        raise _bad_patch("kind and apiVersion may not change")
    notes = typed.Notes()
    try:
        obj = typed.read(kind.type, _bare(patched), notes)
    except typed.DecodeError as error:
        raise (_bad_patch if not applied else errors.internal)(str(error)) from error
    complaints = [f'unknown field "{name}"' for name in notes.unknown]
    if complaints and options.validation == "Strict":
        raise _bad_patch("strict decoding error: " + ", ".join(complaints[:20]))
    if options.validation == "Warn":
        warnings.extend(complaints)
    if kind.unview:
        obj = kind.unview(obj)
    kind.strategy.default(obj)
    return Draft(obj, notes.empties)


def _bad_patch(why: str) -> errors.ApiError:
    return errors.invalid(
        "", "", "", [Cause("patch", "FieldValueInvalid", f"Invalid value: {why}")]
    )


def _apply(
    store: Store,
    target: Target,
    applied: Any,
    old: Snapshot | None,
    options: WriteOptions,
    warnings: list[str],
) -> writes.Written:
    kind = target.kind
    if old is None and target.context.subresource:
        raise errors.not_found(kind.resource, target.name)
    configuration = _configuration(target, applied)
    owner, scope = target.owner(APPLIED), target.scope(kind.type)
    empty = typed.empty(kind.type)
    if old is None:
        managers = Managers(())
        managers.apply(owner, scope, configuration, empty, configuration, force=True)
        return _apply_new(store, target, configuration, managers, options)
    live = raw.rewritten(_bare(kind.shown(old)), raw.canonical)
    managers = Managers(live["metadata"].get("managedFields"))
    managers.first_apply(owner, target.scope(kind.type), empty, live)
    merged = patches.apply(kind.type, live, configuration)
    result = managers.apply(owner, scope, configuration, live, merged, force=options.force)
    patched = {**result, "kind": kind.resource.kind, "apiVersion": kind.resource.api_version}
    if options.manager == KUBECTL:
        _remember(patched, configuration)
    return _patched(store, target, patched, old, options, warnings, managers)


KUBECTL: Final = "kubectl"
"""The manager of ``kubectl apply --server-side``, for which the server does what follows."""

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def _remember(patched: Json, configuration: Json) -> None:
    """Keep the annotation of ``kubectl apply`` up to date, where there is one."""
    meta = patched["metadata"]
    annotations = meta.get("annotations") or {}
    if _LAST_APPLIED not in annotations:
        return
    applied = dict(configuration.get("metadata") or {})
    others = {
        name: value
        for name, value in (applied.pop("annotations", None) or {}).items()
        if name != _LAST_APPLIED
    }
    if others:
        applied["annotations"] = others
    names = {"apiVersion": patched["apiVersion"], "kind": patched["kind"]}
    whole = {**configuration, **names, "metadata": applied}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    patched["metadata"] = {**meta, "annotations": {**annotations, _LAST_APPLIED: text}}


def _apply_new(
    store: Store,
    target: Target,
    configuration: Json,
    managers: Managers,
    options: WriteOptions,
) -> writes.Written:
    meta = configuration.get("metadata") or {}
    if meta.get("uid"):
        why = f"uid mismatch: there is none, the configuration has {str(meta['uid'])[:80]}"
        raise errors.conflict(target.kind.resource, target.name, why)
    if meta.get("name") not in (None, "", target.name):
        raise bad_request("the name of the object does not match the name on the URL")
    kept = {name: value for name, value in meta.items() if name != "resourceVersion"}
    resource = target.kind.resource
    names = {"kind": resource.kind, "apiVersion": resource.api_version}
    fresh = {**names, **configuration, "metadata": {"name": target.name, **kept}}
    try:
        typed.read(target.kind.type, _bare(fresh), typed.Notes())
    except typed.DecodeError as error:
        raise errors.internal(str(error)) from error
    draft = incoming(target, Received(fresh), options, [])
    return writes.create(store, target, dataclasses.replace(draft, managers=managers), options)


def _configuration(target: Target, applied: Any) -> Json:
    """An applied configuration without kind and apiVersion, checked.

    Raises:
        ApiError: 400, 422 or 500.
    """
    if not isinstance(applied, dict):
        raise bad_request("error decoding YAML: want an object")
    resource = target.kind.resource
    if applied.get("kind") != resource.kind or applied.get("apiVersion") != resource.api_version:
        raise bad_request("apiVersion and kind of the applied object do not fit the URL")
    meta = applied.get("metadata") or {}
    if not isinstance(meta, dict) or meta.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    bare = _bare(applied)
    misfit = schemas.misfit(target.kind.type, bare)
    if misfit:
        raise errors.internal(f"failed to create typed patch object: {misfit}")
    return bare


def _bare(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}
