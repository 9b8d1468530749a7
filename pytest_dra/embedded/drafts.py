"""What a write is about, and reading the body of one: kind, shape, defaults, unknown fields."""

from __future__ import annotations

import dataclasses
from typing import Final

from pytest_dra.embedded import byhand
from pytest_dra.embedded import errors
from pytest_dra.embedded import negotiation
from pytest_dra.embedded import typed
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.managers import Manager
from pytest_dra.embedded.managers import Managers
from pytest_dra.embedded.managers import Scope
from pytest_dra.embedded.negotiation import Received
from pytest_dra.embedded.options import WriteOptions
from pytest_dra.embedded.strategy import Context
from pytest_dra.spec import Json


@dataclasses.dataclass(frozen=True, slots=True)
class Draft:
    """An object on its way into the store; ``empties``: it still has empty lists or maps.

    ``managers`` are the owners of its fields where an apply has worked them out already.
    """

    obj: Json
    empties: bool
    managers: Managers | None = None

    def final(self, kind: str) -> Json:
        """The object as storage keeps it."""
        return typed.prune(kind, self.obj) if self.empties else self.obj


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """What a write is about; ``name`` is "" for a creation, ``manager`` who writes."""

    kind: Kind
    namespace: str
    name: str
    context: Context
    manager: str = ""

    @property
    def unconditional(self) -> bool:
        """True if an update may leave the version out."""
        strategy = self.kind.strategy
        if self.context.subresource:
            return strategy.unconditional_status
        return strategy.unconditional_update

    def owner(self, operation: str) -> Manager:
        """The owner of what is written."""
        api_version = self.kind.resource.api_version
        return Manager(self.manager, operation, api_version, self.context.subresource)

    def scope(self, kind: str) -> Scope:
        """What such a write may change, of an object of table type ``kind``."""
        if self.context.subresource:
            if self.context.version.minor < byhand.DECLARED_SINCE:
                # 1.34 notes owners of metadata that a status write leaves alone
                return Scope(kind, ignored=("spec",))
            if self.kind.strategy.status_with_metadata:
                return Scope(kind, ignored=("spec",))
            return Scope(kind, fields=(self.context.subresource,))
        return Scope(kind, ignored=("status",) if self.kind.strategy.status else ())


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
        about = kind.resource
        raise bad_request(
            f'{about.kind} in version "{about.version}" cannot be handled as a {about.kind}: '
            f"strict decoding error: {', '.join(complaints[:20])}"
        )
    if options.validation == "Warn":
        warnings.extend(complaints)
    if kind.unview:
        obj = kind.unview(obj)
    kind.strategy.default(obj)
    return Draft(obj, notes.empties)


def _check_kind(kind: Kind, sent: Json) -> None:
    resource = kind.resource
    if kind.custom is not None:
        _check_custom_kind(kind, sent)
    for name, want in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        got = sent.get(name)
        if got not in (None, "", want):
            raise bad_request(
                f"the object provided is unrecognized or does not fit the URL: "
                f"{name} {str(got)[:80]!r}, want {want!r}"
            )


def _check_custom_kind(kind: Kind, sent: Json) -> None:
    """Nothing is filled in for kinds that are defined."""
    for name, shown in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not sent.get(name):
            raise bad_request(
                f"the object provided is unrecognized (must be of type {kind.resource.kind}): "
                f"Object '{shown}' is missing"
            )
    got = str(sent["kind"])[:_KIND_MAX]
    if got != kind.resource.kind:
        meta = sent.get("metadata")
        name = str(meta.get("name", "")) if isinstance(meta, dict) else ""
        why = f'Invalid value: "{got}": must be {kind.resource.kind}'
        cause = Cause("kind", "FieldValueInvalid", why)
        raise errors.invalid(kind.resource.group, got, name, [cause])


_KIND_MAX: Final = 80
"""Characters of a wrong kind that are shown."""
