"""What an API server does to an object that is created: refuses it, or drops parts of it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import byhand
from pytest_dra.embedded import metadata
from pytest_dra.embedded import typed
from pytest_dra.embedded.claims import ADMIN_LABEL
from pytest_dra.embedded.claimstatus import StatusRules
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.kinds import registry
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.served import VERSIONS
from pytest_dra.embedded.served import serving
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.strategy import Context
from pytest_dra.objects.reading import Given
from pytest_dra.spec import Json

GROUP: Final = f"{resources.RESOURCE_GROUP}/"

_DELETING: Final = "deletionTimestamp"

_NAMESPACE: Final = "default"
"""The namespace of an object that names none."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judged:
    """An object as a server of one version sees it.

    Attributes:
        given: the object.
        sent: as its type, in the form of ``resource.k8s.io/v1``, before defaults and dropping;
            None where it has not the form of its kind.
        refused: what the server would refuse, fields as the object's version names them.
        unknown: paths of fields that the kind does not have.
        dropped: paths of fields that go, because their feature gate is off.
        path: a field's path in v1 as the object's own version names it.
    """

    given: Given
    sent: Json | None
    refused: tuple[Cause, ...] = ()
    unknown: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    kind: Kind | None = None

    def path(self, field: str) -> str:
        """The path of a field of v1 in the object as it was given."""
        if self.kind is None or self.kind.field_path is None:
            return field
        return self.kind.field_path(field)


class Server:
    """Judges objects as kube-apiserver of one version does on creation.

    ``namespaces`` are the labels of namespaces that are known; others have the label that admin
    access needs, so that nothing is said about what was not captured.
    """

    def __init__(
        self, version: KubernetesVersion, namespaces: Mapping[str, Json] | None = None
    ) -> None:
        self.version = version
        self._kinds = registry(serving(version, VERSIONS))
        self._default = {kind.resource.api_version for kind in registry(version).values()}
        self._store = Store()
        self._namespaces = namespaces or {}

    def serves(self, given: Given) -> bool:
        """True if a server with default settings serves the object's version."""
        kind = self._kind(given)
        return kind is not None and given.api_version in self._default

    def judge(self, given: Given) -> Judged | None:
        """What becomes of an object of resource.k8s.io; None if there is no such kind at all."""
        kind = self._kind(given)
        if kind is None:
            return None
        notes = typed.Notes()
        body = {key: item for key, item in given.body.items() if key not in ("kind", "apiVersion")}
        try:
            obj = typed.read(kind.type, body, notes)
        except typed.DecodeError as error:
            field, _, why = str(error).partition(": ")
            cause = Cause(field, "FieldValueTypeInvalid", why)
            return Judged(given=given, sent=None, refused=(cause,), kind=kind)
        if kind.unview:
            obj = kind.unview(obj)
        sent = copy.deepcopy(obj)
        kind.strategy.default(obj)
        context = self._context(obj, kind)
        kind.strategy.drop_gated(obj, None, context)
        dropped = tuple(_gone(sent, obj))
        causes = self._causes(obj, kind, context)
        if kind.field_path is not None:
            path = kind.field_path
            causes = [dataclasses.replace(cause, field=path(cause.field)) for cause in causes]
        return Judged(
            given=given,
            sent=sent,
            refused=tuple(causes),
            unknown=tuple(notes.unknown),
            dropped=dropped,
            kind=kind,
        )

    def _kind(self, given: Given) -> Kind | None:
        for kind in self._kinds.values():
            resource = kind.resource
            if resource.api_version == given.api_version and resource.kind == given.kind:
                return kind
        return None

    def _context(self, obj: Json, kind: Kind) -> Context:
        name = str(obj["metadata"].get("namespace") or _NAMESPACE)
        if self._store.get("core.Namespace", "", name) is None:
            labels = self._namespaces.get(name, {ADMIN_LABEL: "true"})
            namespace = {"metadata": {"name": name, "uid": name, "labels": labels}}
            self._store.put("core.Namespace", namespace)
        return Context(version=self.version, store=self._store, namespace=name, verb="create")

    def _causes(self, obj: Json, kind: Kind, context: Context) -> list[Cause]:
        report = Report()
        strategy = kind.strategy
        meta = obj["metadata"]
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = metadata.generated_name(meta["generateName"])
        metadata.validate(meta, strategy.name_error, report)
        strategy.validate_create(obj, context, report)
        if kind.resource.kind == "ResourceClaim" and obj["status"]:
            # a claim that is being deleted has got its reservations before
            kept = {name: value for name, value in meta.items() if name != _DELETING}
            claim = {**obj, "metadata": kept}
            StatusRules(claim, {**claim, "status": {}}, self.version, report).validate()
        causes = report.causes
        if self.version.minor < byhand.DECLARED_SINCE:
            causes = byhand.reworded(causes, kind.resource.kind, update=False)
        return list(dict.fromkeys(causes))


def _gone(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Paths of fields that are in ``before`` and not in ``after``."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            where = _joined(path, name)
            if name not in after:
                yield where
            else:
                yield from _gone(value, after[name], where)
    elif isinstance(before, list) and isinstance(after, list):
        for index, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _gone(one, other, f"{path}[{index}]")


def _joined(path: str, name: str) -> str:
    if not name.isalnum():
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name
