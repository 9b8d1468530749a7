"""CREATE, UPDATE and PATCH: the way of an object from a client's bytes into the store."""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

from pytest_dra.embedded import deletes
from pytest_dra.embedded import errors
from pytest_dra.embedded import metadata
from pytest_dra.embedded import negotiation
from pytest_dra.embedded import patches
from pytest_dra.embedded import typed
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.negotiation import Received
from pytest_dra.embedded.options import WriteOptions
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import changed
from pytest_dra.spec import Json

NAME_TRIES: Final = 8
"""How often a taken generated name is generated anew."""

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"

PATCH_TYPES: Final = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
"""The patch media types of the API."""


@dataclasses.dataclass(slots=True)
class Written:
    """The result of a write: a stored state, or ``obj`` for a dry run; and warnings."""

    code: int
    snapshot: Snapshot | None
    obj: Json
    warnings: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Draft:
    """An object on its way into the store; ``empties``: it still has empty lists or maps."""

    obj: Json
    empties: bool

    def final(self, kind: str) -> Json:
        """The object as storage keeps it."""
        return typed.prune(kind, self.obj) if self.empties else self.obj


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """What a write is about; ``name`` is "" for a creation."""

    kind: Kind
    namespace: str
    name: str
    context: Context


def incoming(
    target: Target, received: Received, options: WriteOptions, warnings: list[str]
) -> Draft:
    """The received object in stored form, with defaults; unknown fields become warnings.

    Raises:
        ApiError: 400, wrong kind or shape, or unknown fields in Strict mode.
    """
    kind = target.kind
    _check_kind(kind, received.sent)
    notes = typed.Notes()
    obj = negotiation.to_typed(received.sent, kind.type, notes)
    complaints = [f'unknown field "{name}"' for name in notes.unknown]
    complaints += [f'duplicate field "{name}"' for name in received.repeated(notes.names)]
    if complaints and options.validation == "Strict":
        raise bad_request("strict decoding error: " + ", ".join(complaints[:20]))
    if options.validation == "Warn":
        warnings.extend(complaints)
    if kind.unview:
        obj = kind.unview(obj)
    kind.strategy.default(obj)
    return Draft(obj, notes.empties)


def _check_kind(kind: Kind, sent: Json) -> None:
    resource = kind.resource
    for name, want in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        got = sent.get(name)
        if got not in (None, "", want):
            raise bad_request(
                f"the object provided is unrecognized or does not fit the URL: "
                f"{name} {str(got)[:80]!r}, want {want!r}"
            )


def create(store: Store, target: Target, draft: Draft, options: WriteOptions) -> Written:
    """Store a new object.

    Raises:
        ApiError: 403, 404, 409, 422 or 500.
    """
    kind, strategy, ctx = target.kind, target.kind.strategy, target.context
    obj = draft.obj
    meta = obj["metadata"]
    version = meta.get("resourceVersion", "")
    if kind.resource.namespaced:
        _check_namespace(target, meta)
        _need_namespace(store, target, meta.get("name", ""))
    strategy.admit(obj, None, ctx)
    if version not in ("", "0"):
        raise errors.internal("resourceVersion should not be set on objects to be created")
    metadata.fill_new(meta, namespace=target.namespace, generation=strategy.generation)
    strategy.prepare_create(obj, ctx)
    strategy.drop_gated(obj, None, ctx)
    report = Report()
    metadata.validate(meta, strategy.name_error, report)
    strategy.validate_create(obj, ctx, report)
    if report.causes:
        raise _invalid(kind, meta.get("name", ""), report.causes)
    obj = draft.final(kind.storage)
    meta = obj["metadata"]
    for _ in range(NAME_TRIES):
        taken = store.get(kind.storage, meta.get("namespace", ""), meta["name"])
        if taken is None or not _was_generated(meta):
            break
        meta["name"] = metadata.generated_name(meta["generateName"])
    if taken is not None:
        raise errors.already_exists(kind.resource, meta["name"])
    warnings = strategy.warnings(obj)
    if options.dry_run:
        return Written(201, None, obj, warnings)
    snapshot = store.put(kind.storage, obj)
    return Written(201, snapshot, snapshot.object, warnings)


def _was_generated(meta: Json) -> bool:
    base = meta.get("generateName", "")[: metadata.GENERATED_BASE_MAX]
    return bool(base) and meta["name"].startswith(base) and len(meta["name"]) == len(base) + 5


def _invalid(kind: Kind, name: str, causes: list[Cause]) -> errors.ApiError:
    # a second view of a kind reports failures as the kind that is stored
    group = "" if kind.stored else kind.resource.group
    return errors.invalid(group, kind.resource.kind, name, causes)


def _check_namespace(target: Target, meta: Json) -> None:
    if meta.get("namespace", "") not in ("", target.namespace):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _need_namespace(store: Store, target: Target, name: str) -> None:
    found = store.get("core.Namespace", "", target.namespace)
    if found is None:
        from_core = errors.ApiError(
            404,
            "NotFound",
            f'namespaces "{target.namespace}" not found',
            details={"name": target.namespace, "kind": "namespaces"},
        )
        raise from_core
    if "deletionTimestamp" in found.object["metadata"]:
        raise errors.forbidden(
            target.kind.resource,
            name,
            f"unable to create new content in namespace {target.namespace} "
            "because it is being terminated",
            [
                Cause(
                    "metadata.namespace",
                    "NamespaceTerminating",
                    f"namespace {target.namespace} is being terminated",
                )
            ],
        )


def update(store: Store, target: Target, draft: Draft, options: WriteOptions) -> Written:
    """Replace an object (or its status).

    Raises:
        ApiError: 400, 404, 409, 422 or 500.
    """
    kind, strategy = target.kind, target.kind.strategy
    meta = draft.obj["metadata"]
    if not meta.get("name"):
        raise bad_request("name must be provided")
    if meta["name"] != target.name:
        raise bad_request(
            f"the name of the object ({meta['name'][:80]}) does not match the name on the URL "
            f"({target.name[:80]})"
        )
    if kind.resource.namespaced:
        _check_namespace(target, meta)
    old = store.get(kind.storage, target.namespace, target.name)
    if old is None:
        if strategy.create_on_update and not target.context.subresource:
            return create(store, target, draft, options)
        raise errors.not_found(kind.resource, target.name)
    version = meta.get("resourceVersion", "")
    if version and version != "0":
        if not version.isdigit():
            raise errors.internal(f"invalid resource version {version[:40]!r}")
        if int(version) != old.rv:
            raise errors.conflict(kind.resource, target.name)
    elif not strategy.unconditional_update:
        causes = [
            Cause(
                "metadata.resourceVersion",
                "FieldValueInvalid",
                "Invalid value: 0: must be specified for an update",
            )
        ]
        # here the real server names the plural
        raise errors.invalid(kind.resource.group, kind.resource.plural, target.name, causes)
    uid = meta.get("uid", "")
    if uid and uid != old.object["metadata"]["uid"]:
        raise errors.conflict(
            kind.resource,
            target.name,
            f"Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {old.object['metadata']['uid']}",
        )
    return replace(store, target, draft, old, options)


def replace(
    store: Store,
    target: Target,
    draft: Draft,
    old: Snapshot,
    options: WriteOptions,
    *,
    force: bool = False,
) -> Written:
    """The part of an update that follows the checks of version and identity.

    ``force`` writes a new version even if nothing changes.

    Raises:
        ApiError: 403 or 422.
    """
    kind, strategy, ctx = target.kind, target.kind.strategy, target.context
    obj, before = draft.obj, old.object
    if ctx.subresource:
        strategy.prepare_status(obj, before, ctx)
    else:
        strategy.prepare_update(obj, before, ctx)
    meta = obj["metadata"] = dict(obj["metadata"])
    metadata.keep_old(meta, before["metadata"])
    if strategy.generation and not ctx.subresource and strategy.spec_changed(obj, before):
        meta["generation"] = before["metadata"].get("generation", 0) + 1
    strategy.drop_gated(obj, before, ctx)
    strategy.admit(obj, before, ctx)
    report = Report()
    metadata.validate_update(meta, before["metadata"], report)
    if ctx.subresource:
        strategy.validate_status(obj, before, ctx, report)
    else:
        strategy.validate_update(obj, before, ctx, report)
    if report.causes:
        raise _invalid(kind, target.name, report.causes)
    obj = draft.final(kind.storage)
    obj["metadata"]["resourceVersion"] = str(old.rv)
    warnings = strategy.warnings(obj)
    if "deletionTimestamp" in meta and not meta.get("finalizers") and deletes.may_go(kind, obj):
        if not options.dry_run:
            deletes.remove(store, kind, old)
        return Written(200, None, obj, warnings)
    if options.dry_run:
        return Written(200, None, obj, warnings)
    if not force and not changed(obj, old):
        return Written(200, old, before, warnings)
    snapshot = store.put(kind.storage, obj)
    return Written(200, snapshot, snapshot.object, warnings)


def patch(store: Store, target: Target, body: bytes, media: str, options: WriteOptions) -> Written:
    """Apply a patch of one of the four types.

    Raises:
        ApiError: 400, 404, 409, 415, 422 or 500.
    """
    kind = target.kind
    old = store.get(kind.storage, target.namespace, target.name)
    if media == APPLY:
        return _apply(store, target, body, old, options)
    if options.force:
        raise errors.invalid_options(
            "PatchOptions",
            [Cause("force", "FieldValueForbidden", "may not be specified for non-apply patch")],
        )
    patch_value = negotiation.load_json(body)
    if old is None:
        raise errors.not_found(kind.resource, target.name)
    shown = kind.shown(old)
    if media == JSON_PATCH:
        patched = patches.json_patch(shown, patch_value)
    elif not isinstance(patch_value, dict):
        raise bad_request("error decoding patch: want an object")
    elif media == MERGE:
        patched = patches.merge(shown, patch_value)
    else:
        patched = patches.strategic(kind.type, shown, patch_value)
    return _patched(store, target, patched, old, options)


def _patched(
    store: Store, target: Target, patched: Json, old: Snapshot, options: WriteOptions
) -> Written:
    warnings: list[str] = []
    draft = _read_patched(target, patched, options, warnings)
    meta, before = draft.obj["metadata"], old.object["metadata"]
    version = meta.get("resourceVersion", "")
    if meta.get("name", "") != target.name or (
        target.kind.resource.namespaced and meta.get("namespace", "") != target.namespace
    ):
        raise bad_request("the name or namespace of the object does not match the URL")
    if version and version != str(old.rv):
        if not version.isdigit():
            raise errors.internal(f"invalid resource version {version[:40]!r}")
        raise errors.conflict(target.kind.resource, target.name)
    if meta.get("uid", "") != before["uid"]:
        cause = Cause("metadata.uid", "FieldValueInvalid", "Invalid value: field is immutable")
        raise _invalid(target.kind, target.name, [cause])
    # trying to move a deletion is ignored, but counts as a write
    moved = "deletionTimestamp" in before and (
        meta.get("deletionTimestamp") != before["deletionTimestamp"]
    )
    written = replace(store, target, draft, old, options, force=moved)
    written.warnings[:0] = warnings
    return written


def _read_patched(
    target: Target, patched: Json, options: WriteOptions, warnings: list[str]
) -> Draft:
    kind = target.kind
    resource = kind.resource
    if patched.get("kind") != resource.kind or patched.get("apiVersion") != resource.api_version:
        raise _bad_patch("kind and apiVersion may not change")
    notes = typed.Notes()
    try:
        bare = {key: value for key, value in patched.items() if key not in ("kind", "apiVersion")}
        obj = typed.read(kind.type, bare, notes)
    except typed.DecodeError as error:
        raise _bad_patch(str(error)) from error
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
    store: Store, target: Target, body: bytes, old: Snapshot | None, options: WriteOptions
) -> Written:
    if not options.manager:
        raise errors.invalid_options(
            "PatchOptions",
            [Cause("fieldManager", "FieldValueRequired", "is required for apply patch")],
        )
    applied: Any = negotiation.read_yaml(body)
    if not isinstance(applied, dict):
        raise bad_request("error decoding YAML: want an object")
    kind = target.kind
    resource = kind.resource
    if applied.get("kind") != resource.kind or applied.get("apiVersion") != resource.api_version:
        raise bad_request("apiVersion and kind of the applied object do not fit the URL")
    meta = applied.get("metadata") or {}
    if not isinstance(meta, dict) or meta.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    notes = typed.Notes()
    negotiation.to_typed(applied, kind.type, notes)
    if notes.unknown:
        raise errors.internal(
            f"failed to create typed patch object: {notes.unknown[0]}: no such field"
        )
    if old is None:
        if target.context.subresource:
            raise errors.not_found(resource, target.name)
        fresh = {**applied, "metadata": {"name": target.name, **meta}}
        draft = incoming(target, Received(fresh), options, [])
        return create(store, target, draft, options)
    return _patched(store, target, patches.apply(kind.type, kind.shown(old), applied), old, options)
