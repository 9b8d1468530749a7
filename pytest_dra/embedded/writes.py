"""CREATE and UPDATE: the way of an object from a client's bytes into the store."""

from __future__ import annotations

import dataclasses
from typing import Final

from pytest_dra.embedded import byhand
from pytest_dra.embedded import deletes
from pytest_dra.embedded import errors
from pytest_dra.embedded import metadata
from pytest_dra.embedded import policies
from pytest_dra.embedded import typed
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import refused
from pytest_dra.embedded.drafts import Draft
from pytest_dra.embedded.drafts import Target
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.managers import UPDATE
from pytest_dra.embedded.managers import Managers
from pytest_dra.embedded.managers import is_reset
from pytest_dra.embedded.nodeaccess import restrict
from pytest_dra.embedded.options import WriteOptions
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.scalars import is_number
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.strategy import changed
from pytest_dra.spec import Json

NAME_TRIES: Final = 8
"""How often a taken generated name is generated anew."""


@dataclasses.dataclass(slots=True)
class Written:
    """The result of a write: a stored state, or ``obj`` for a dry run; and warnings."""

    code: int
    snapshot: Snapshot | None
    obj: Json
    warnings: list[str] = dataclasses.field(default_factory=list)


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
    admit_node(target, obj, None)
    for wiped in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        meta.pop(wiped, None)
    owners = _owners(target, draft, typed.empty(kind.storage), Managers(()))
    metadata.fill_new(meta, namespace=target.namespace, generation=strategy.generation)
    if owners:
        meta["managedFields"] = owners
    strategy.prepare_create(obj, ctx)
    strategy.drop_gated(obj, None, ctx)
    report = Report()
    metadata.validate(meta, strategy.name_error, report)
    strategy.validate_create(obj, ctx, report)
    if report.causes:
        raise _refused(target, meta.get("name", ""), report.causes, update=False)
    _need_right_to_create(target)
    warned = _admit_valid(target, obj, None, dry_run=options.dry_run)
    obj = draft.final(kind.storage)
    meta = obj["metadata"]
    given = is_number(version) and int(version) > 0
    if given and not (options.dry_run or target.name):
        raise errors.internal("resourceVersion should not be set on objects to be created")
    for _ in range(NAME_TRIES):
        taken = store.get(kind.storage, meta.get("namespace", ""), meta["name"])
        if taken is None or not _was_generated(meta):
            break
        meta["name"] = metadata.generated_name(meta["generateName"])
    if taken is not None:
        generated = bool(meta.get("generateName"))
        blamed = kind.blamed if generated else kind.resource
        raise errors.already_exists(blamed, meta["name"], generated=generated)
    warnings = [*strategy.warnings(obj), *warned]
    if options.dry_run:
        if given:
            meta["resourceVersion"] = version
        return Written(201, None, obj, warnings)
    snapshot = store.put(kind.storage, obj)
    return Written(201, snapshot, snapshot.object, warnings)


def _need_right_to_create(target: Target) -> None:
    """What updates or applies and finds nothing creates, and needs the right to that as well.

    Raises:
        ApiError: 403.
    """
    ctx, resource = target.context, target.kind.resource
    if ctx.verb == "create" or ctx.allows is None or ctx.user is None:
        return
    attempt = Attempt(
        user=ctx.user,
        verb="create",
        group=resource.group,
        resource=resource.plural,
        namespace=target.namespace,
        name=target.name,
    )
    if not ctx.allows(attempt):
        raise refused(attempt)


def admit_node(target: Target, obj: Json, before: Json | None) -> None:
    """What a kubelet may not write; asked before versions are compared.

    Raises:
        ApiError: 403.
    """
    ctx = target.context
    if ctx.allows is not None and ctx.user is not None:
        restrict(ctx.user, target.kind, obj, before)


def _admit_valid(target: Target, obj: Json, before: Json | None, *, dry_run: bool) -> list[str]:
    """What admission says at last; returns its warnings."""
    ctx = target.context
    target.kind.strategy.admit_valid(obj, ctx)
    change = policies.Change(kind=target.kind, context=ctx, new=obj, old=before, dry_run=dry_run)
    return policies.judge(change)


def _was_generated(meta: Json) -> bool:
    base = meta.get("generateName", "")[: metadata.GENERATED_BASE_MAX]
    return bool(base) and meta["name"].startswith(base) and len(meta["name"]) == len(base) + 5


def invalid(kind: Kind, name: str, causes: list[Cause]) -> errors.ApiError:
    """422 about an object of this kind."""
    # the new form of events reports failures as the core kind that is stored
    group = "" if kind.fails_as_core else kind.resource.group
    if kind.field_path is not None:
        path = kind.field_path
        causes = [dataclasses.replace(cause, field=path(cause.field)) for cause in causes]
    return errors.invalid(group, kind.resource.kind, name, causes)


def _refused(target: Target, name: str, causes: list[Cause], *, update: bool) -> errors.ApiError:
    if target.context.version.minor < byhand.DECLARED_SINCE:
        causes = byhand.reworded(causes, target.kind.resource.kind, update=update)
    return invalid(target.kind, name, causes)


def refused_uid(target: Target, why: str) -> errors.ApiError:
    """422 about a uid that is not that of the object."""
    cause = Cause("metadata.uid", "FieldValueInvalid", f"Invalid value: {why}")
    return _refused(target, target.name, [cause], update=True)


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
            if meta.get("uid"):
                raise errors.conflict(kind.resource, target.name, _NO_UID)
            return create(store, target, draft, options)
        raise errors.not_found(kind.resource, target.name)
    admit_node(target, draft.obj, old.lean)
    _check_identity(target, meta, old)
    return replace(store, target, draft, old, options)


def need_version(target: Target) -> None:
    """Refuse an update without a version where the kind wants one.

    Raises:
        ApiError: 422.
    """
    if not target.unconditional:
        why = "Invalid value: 0: must be specified for an update"
        cause = Cause("metadata.resourceVersion", "FieldValueInvalid", why)
        resource = target.kind.resource
        # here the real server names the plural
        raise errors.invalid(resource.group, resource.plural, target.name, [cause])


_NO_UID: Final = "Precondition failed: there is no object of that UID"


def _check_identity(target: Target, meta: Json, old: Snapshot) -> None:
    """Version and UID of an update are those of the stored object, or left out."""
    kind = target.kind
    version = meta.get("resourceVersion", "")
    if version and version != "0":
        if not is_number(version):
            raise errors.internal(f"invalid resource version {version[:40]!r}")
        if int(version) != old.rv:
            raise errors.conflict(kind.resource, target.name)
    else:
        need_version(target)
    uid = meta.get("uid", "")
    if uid and uid != old.lean["metadata"]["uid"]:
        raise errors.conflict(
            kind.resource,
            target.name,
            f"Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {old.lean['metadata']['uid']}",
        )


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
    owners = _owners_after(target, draft, before)
    if ctx.subresource:
        strategy.prepare_status(obj, before, ctx)
    else:
        strategy.prepare_update(obj, before, ctx)
    meta = obj["metadata"] = dict(obj["metadata"])
    metadata.keep_old(meta, before["metadata"])
    if owners:
        meta["managedFields"] = owners
    counts = strategy.generation and not ctx.subresource
    # an empty list is no change from none
    if counts and strategy.spec_changed(draft.final(kind.storage), before):
        meta["generation"] = before["metadata"].get("generation", 0) + 1
    strategy.drop_gated(obj, before, ctx)
    strategy.admit(obj, before, ctx)
    admit_node(target, obj, before)
    _validate_update(target, obj, before)
    warned = _admit_valid(target, obj, before, dry_run=options.dry_run)
    obj = draft.final(kind.storage)
    obj["metadata"]["resourceVersion"] = str(old.rv)
    warnings = [*strategy.warnings(obj), *warned]
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


def _owners(target: Target, draft: Draft, old: Json, managers: Managers) -> list[Json]:
    if draft.managers is not None:
        return draft.managers.entries()
    kind, view = target.kind, target.kind.view
    new = draft.final(kind.storage)
    if view is None or kind.type not in OWNED_AS_SHOWN:
        managers.update(target.owner(UPDATE), target.scope(kind.storage), old, new)
    else:
        managers.update(target.owner(UPDATE), target.scope(kind.type), view(old), view(new))
    return managers.entries()


OWNED_AS_SHOWN: Final = ("events.Event",)
"""Kinds whose owners own fields of what they have sent, not of what is stored."""


def _owners_after(target: Target, draft: Draft, before: Json) -> list[Json]:
    """The owners after an update; a client may write them itself, or end the tracking."""
    sent = draft.obj["metadata"].get("managedFields") if not target.context.subresource else None
    if draft.managers is None and is_reset(sent):
        return []
    managers = Managers(sent) or Managers(before["metadata"].get("managedFields"))
    if draft.managers is None and not managers:
        return []
    return _owners(target, draft, before, managers)


def _validate_update(target: Target, obj: Json, before: Json) -> None:
    strategy, ctx, report = target.kind.strategy, target.context, Report()
    metadata.validate_update(obj["metadata"], before["metadata"], report)
    if ctx.subresource:
        strategy.validate_status(obj, before, ctx, report)
    else:
        strategy.validate_update(obj, before, ctx, report)
    if report.causes:
        raise _refused(target, target.name, report.causes, update=True)
