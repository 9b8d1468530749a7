"""The verbs: each takes a routed call to the store and makes the reply."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from pytest_dra.api.resources import RESOURCE_GROUP
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import byhand
from pytest_dra.embedded import deletes
from pytest_dra.embedded import errors
from pytest_dra.embedded import identities
from pytest_dra.embedded import negotiation
from pytest_dra.embedded import nodeaccess
from pytest_dra.embedded import options
from pytest_dra.embedded import patching
from pytest_dra.embedded import policies
from pytest_dra.embedded import reads
from pytest_dra.embedded import shapes
from pytest_dra.embedded import typed
from pytest_dra.embedded import writes
from pytest_dra.embedded.access import Authorizer
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.binding import bind
from pytest_dra.embedded.blocks import Blocks
from pytest_dra.embedded.drafts import Draft
from pytest_dra.embedded.drafts import Target
from pytest_dra.embedded.drafts import incoming
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.kinds import Shown
from pytest_dra.embedded.negotiation import Media
from pytest_dra.embedded.options import DeleteOptions
from pytest_dra.embedded.options import ListOptions
from pytest_dra.embedded.options import Query
from pytest_dra.embedded.recorded import Lazy
from pytest_dra.embedded.recorded import Unread
from pytest_dra.embedded.routing import Route
from pytest_dra.embedded.scalars import is_number
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.store import encode
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.watch import Watch
from pytest_dra.embedded.writes import Written
from pytest_dra.spec import Json

WARNINGS_MAX: Final = 20
"""Warning headers of one answer."""

_UNREADABLE_VERSION: Final = 500

Kinds = Mapping[tuple[str, str, str], Kind]
"""The kinds of a server by (group, version, plural)."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Call:
    """A routed request. ``sent`` is set once the body is decoded.

    ``stale`` is the version that a list from version "0" shall show.
    """

    route: Route
    verb: str
    query: Query
    media: Media
    content_type: str
    body: bytes
    user_agent: str
    user: User
    stale: int | None = None
    sent: Json | None = None
    warnings: list[str] = dataclasses.field(default_factory=list)

    def recorded(self) -> Json | Lazy | None:
        """The decoded body, or its bytes where they are all that it takes to decode it again."""
        plain = self.verb in ("create", "update") and self.sent is not None
        if plain and negotiation.content_type(self.content_type) == negotiation.JSON:
            return Unread(self.body)
        return self.sent

    @property
    def kind(self) -> Kind:
        """The kind that was found for the route."""
        if self.route.kind is None:
            raise errors.unknown_resource()
        return self.route.kind


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """An answer: ``body`` as it is sent, ``answer`` the same as an object; or a watch to stream."""

    code: int
    answer: Json | Lazy | None
    body: bytes | Blocks
    media: str = negotiation.JSON
    warnings: tuple[str, ...] = ()
    retry_after_s: int | None = None
    watch: Watch | None = None


class Operations:
    """All verbs on all kinds of one server."""

    def __init__(
        self,
        *,
        store: Store,
        kinds: Kinds,
        version: KubernetesVersion,
        tokens: Tokens,
        allows: Authorizer | None = None,
    ) -> None:
        """``allows`` is set where rights count beyond the request itself (RBAC)."""
        self.kinds = kinds
        self._tokens = tokens
        self._allows = allows
        self._store = store
        self.version = version
        self._verbs = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def become(self, version: KubernetesVersion, kinds: Kinds) -> None:
        """Behave like this version from now on."""
        self.version = version
        self.kinds = kinds

    def peek(self, route: Route, media: str, body: bytes) -> Json | None:
        """The body of a request that will not be carried out; None if it cannot be read."""
        kind = self.kinds.get((route.group, route.version, route.plural))
        if kind is None or not body:
            return None
        try:
            if negotiation.content_type(media) in patching.PATCH_TYPES:
                decoded = negotiation.read_yaml(body)
                return decoded if isinstance(decoded, dict) else {"operations": decoded}
            api_version = (kind.resource.api_version,)
            return negotiation.read_object(body, media, kind.type, api_version).sent
        except ApiError:
            return None

    async def perform(self, call: Call) -> Reply:
        """Carry out one call.

        Raises:
            ApiError: the request fails.
        """
        return await self._verbs[call.verb](call)

    def _target(self, call: Call) -> Target:
        route = call.route
        namespace = route.namespace or ""
        # a namespace is governed by its own labels
        place = route.name if route.plural == "namespaces" else namespace
        context = Context(
            version=self.version,
            store=self._store,
            namespace=place,
            verb=call.verb,
            subresource=route.subresource,
            user=call.user,
            allows=self._allows,
        )
        manager = call.query.get("fieldManager", "") or options.manager_of(call.user_agent)
        return Target(call.kind, namespace, route.name, context, manager)

    async def _get(self, call: Call) -> Reply:
        kind, route = call.kind, call.route
        if (
            route.subresource
            and kind.resource.group == RESOURCE_GROUP
            and (call.media.shape == "Table")
        ):
            raise errors.not_acceptable(call.media.shape)
        version = call.query.get("resourceVersion", "")
        # events are not kept in a cache, whose reader has another failure
        cached = kind.storage != "core.Event"
        rv = options.version_number(version, watch=cached) if version else 0
        if rv > self._store.version:
            failure = await reads.catch_up(self._store, rv)
            if failure:
                raise failure
        found = self._store.get(kind.storage, route.namespace or "", route.name)
        if found is None:
            raise errors.not_found(kind.resource, route.name)
        return self._shown(call, found)

    def _shown(self, call: Call, found: Snapshot, code: int = 200) -> Reply:
        if call.media.shape:
            include = call.query.get("includeObject", "")
            shape = shapes.shape(call.kind, call.media.shape, include, listed=False)
            answer = shape.one(found)
            return Reply(code, answer, encode(answer))
        return Reply(code, Shown(call.kind, found), call.kind.encoded(found))

    async def _list(self, call: Call) -> Reply:
        kind = call.kind
        wanted = options.list_options(call.query, watch=False)
        if call.stale is not None and wanted.version == "0" and not wanted.match:
            wanted = dataclasses.replace(wanted, rv=call.stale, match="Exact")
        found, meta = await reads.find(self._store, kind, call.route.namespace, wanted)
        include = call.query.get("includeObject", "")
        shape = shapes.shape(kind, call.media.shape, include, listed=True)
        answer, body = shape.many(found, meta)
        return Reply(200, answer, body)

    async def _watch(self, call: Call) -> Reply:
        try:
            wanted = options.list_options(call.query, watch=True)
        except ApiError as error:
            if error.code == _UNREADABLE_VERSION:
                # the version is read last
                fields = call.query.get("fieldSelector", "")
                reads.selector(call.kind, ListOptions(field_selector=fields))
            raise
        if call.route.name:
            name = f"metadata.name={call.route.name}"
            fields = f"{wanted.field_selector},{name}" if wanted.field_selector else name
            wanted = dataclasses.replace(wanted, field_selector=fields)
        shape = shapes.shape(call.kind, call.media.shape, call.query.get("includeObject", ""))
        watch = Watch(self._store, call.kind, call.route.namespace, wanted, shape)
        return Reply(200, None, b"", watch=watch)

    def _receive(self, call: Call, chosen: options.WriteOptions) -> Draft:
        kind = call.kind
        if kind.custom is not None and (
            negotiation.content_type(call.content_type) == negotiation.PROTOBUF
        ):
            raise negotiation.unsupported(negotiation.JSON, negotiation.YAML)
        received = negotiation.read_object(
            call.body, call.content_type, kind.type, (kind.resource.api_version,)
        )
        call.sent = received.sent
        return incoming(self._target(call), received, chosen, call.warnings)

    async def _create(self, call: Call) -> Reply:
        if call.route.subresource:
            return self._token(call) if call.route.subresource == "token" else self._bind(call)
        chosen = options.write_options(call.query, "CreateOptions")
        draft = self._receive(call, chosen)
        written = writes.create(self._store, self._target(call), draft, chosen)
        return self._wrote(call, written)

    def _token(self, call: Call) -> Reply:
        type_name, versions = "authentication.TokenRequest", (identities.VERSION,)
        received = negotiation.read_object(call.body, call.content_type, type_name, versions)
        call.sent = received.sent
        sent = negotiation.to_typed(received.sent, type_name, typed.Notes())
        route = call.route
        place = route.namespace or ""
        answer = identities.request_token(self._store, self._tokens, place, route.name, sent)
        return Reply(201, answer, encode(answer))

    def _bind(self, call: Call) -> Reply:
        received = negotiation.read_object(call.body, call.content_type, "core.Binding", ("v1",))
        call.sent = received.sent
        chosen = options.write_options(call.query, "CreateOptions")
        answer = bind(self._store, call.kind, call.route, received.sent, dry_run=chosen.dry_run)
        return Reply(201, answer, encode(answer))

    async def _update(self, call: Call) -> Reply:
        chosen = options.write_options(call.query, "UpdateOptions")
        draft = self._receive(call, chosen)
        written = writes.update(self._store, self._target(call), draft, chosen)
        return self._wrote(call, written)

    async def _patch(self, call: Call) -> Reply:
        media = negotiation.content_type(call.content_type)
        known = patching.PATCH_TYPES
        if call.route.kind is not None and call.route.kind.custom is not None:
            known = patching.CUSTOM_PATCH_TYPES
        if media not in known:
            patches = known is patching.PATCH_TYPES
            raise negotiation.unsupported(*known, patch=patches)
        applies = media == patching.APPLY
        chosen = options.write_options(call.query, "PatchOptions", applies=applies)
        decoded = negotiation.read_yaml(call.body) if applies else negotiation.load_json(call.body)
        call.sent = decoded if isinstance(decoded, dict) else {"operations": decoded}
        target = self._target(call)
        written = patching.patch(self._store, target, decoded, media, chosen, call.warnings)
        return self._wrote(call, written)

    def _wrote(self, call: Call, written: Written) -> Reply:
        texts = tuple([*call.warnings, *written.warnings][:WARNINGS_MAX])
        if written.snapshot is not None and not call.media.shape:
            kind = call.kind
            return Reply(
                written.code,
                Shown(kind, written.snapshot),
                kind.encoded(written.snapshot),
                warnings=texts,
            )
        if call.media.shape:
            version = written.obj["metadata"].get("resourceVersion", "")
            state = Snapshot(written.obj, int(version) if is_number(version) else 0)
            shown = self._shown(call, written.snapshot or state, written.code)
            return dataclasses.replace(shown, warnings=texts)
        answer = call.kind.wrap(written.obj)
        return Reply(written.code, answer, encode(answer), warnings=texts)

    async def _delete(self, call: Call) -> Reply:
        kind, route = call.kind, call.route
        wanted = self._delete_options(call)
        place = route.namespace or ""
        admit = self._deletion(call, wanted)
        done = deletes.delete(self._store, kind, place, route.name, wanted, admit)
        texts = tuple(call.warnings[:WARNINGS_MAX])
        if kind.deletes_to_object or done.marked:
            return dataclasses.replace(self._shown(call, done.state), warnings=texts)
        answer = deletes.status_of(kind, done.state)
        return Reply(200, answer, encode(answer), warnings=texts)

    def _deletion(self, call: Call, wanted: DeleteOptions) -> deletes.Admit:
        """Asks admission about each object that the call deletes."""
        context = self._target(call).context

        def admit(old: Snapshot) -> None:
            if context.allows is not None and context.user is not None:
                nodeaccess.restrict_deletion(context.user, call.kind, old.lean)
            if not policies.bound(self._store):
                return
            place = dataclasses.replace(context, namespace=old.namespace)
            change = policies.Change(
                kind=call.kind,
                context=place,
                new=None,
                old=old.object,
                dry_run=wanted.dry_run,
                collective=not call.route.name,
            )
            call.warnings.extend(policies.judge(change))

        return admit

    def _delete_options(self, call: Call) -> DeleteOptions:
        if not call.body:
            return options.delete_options(call.query, None)
        received = negotiation.read_object(call.body, call.content_type, "meta.DeleteOptions", ())
        call.sent = received.sent
        if received.sent.get("kind", "") not in ("", "DeleteOptions"):
            why = f"the body is no DeleteOptions but {received.sent['kind']!r:.80}"
            if self.version.minor < byhand.DECLARED_SINCE:
                raise errors.internal(why)
            raise bad_request(why)
        body = negotiation.to_typed(received.sent, "meta.DeleteOptions", typed.Notes())
        return options.delete_options(call.query, body)

    async def _delete_collection(self, call: Call) -> Reply:
        kind = call.kind
        listed: ListOptions = options.list_options(call.query, watch=False)
        reads.selector(kind, listed)
        wanted = self._delete_options(call)
        admit = self._deletion(call, wanted)
        found, meta = await reads.find(self._store, kind, call.route.namespace, listed)
        for item in found:
            present = self._store.get(kind.storage, item.namespace, item.name)
            if present is not None:
                deletes.check_preconditions(kind, present, wanted)
                admit(present)
                deletes.delete_state(self._store, kind, present, wanted)
        include = call.query.get("includeObject", "")
        shape = shapes.shape(kind, call.media.shape, include, listed=True)
        answer, body = shape.many(found, meta)
        return Reply(200, answer, body)
