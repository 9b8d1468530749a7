"""What differs from kind to kind in a write: defaults, status separation, rules, admission.

A strategy never stores anything. The object that it gets is fresh and may be changed in place; the
old one is a snapshot and may not.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import ClassVar

from pytest_dra.api import names
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import typed
from pytest_dra.embedded.access import Authorizer
from pytest_dra.embedded.access import User
from pytest_dra.embedded.managers import timeless
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a strategy may look at besides the object: version and gates, other objects, namespace.

    ``verb`` is create, update or patch; ``subresource`` "" for the object itself. ``user`` and
    ``allows`` are set where the server looks at rights: who writes, and what that one may do.
    """

    version: KubernetesVersion
    store: Store
    namespace: str
    verb: str
    subresource: str = ""
    user: User | None = None
    allows: Authorizer | None = None

    def labels_of_namespace(self) -> Json:
        """The labels of the namespace that the request is about."""
        found = self.store.get("core.Namespace", "", self.namespace)
        labels: Json = found.object["metadata"].get("labels") or {} if found else {}
        return labels


class Strategy:
    """The behaviour of a kind without rules of its own; others override parts of it.

    ``generation``: the server counts spec changes. ``create_on_update``: PUT to a missing name
    creates. ``unconditional_update``: PUT may leave the resourceVersion out. ``status``: there is
    a status, written through its subresource only; ``unconditional_status``: as above, for that.
    ``status_with_metadata``: that subresource takes metadata as well.
    ``collected``: the garbage collector has to do with it, so deletions may wait for that one.
    """

    generation: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = False
    unconditional_update: ClassVar[bool] = True
    unconditional_status: ClassVar[bool] = True
    status: ClassVar[bool] = False
    status_with_metadata: ClassVar[bool] = False
    collected: ClassVar[bool] = True

    def __init__(self, kind: str) -> None:
        """``kind`` is the type in the table, for example ``core.Node``."""
        self.kind = kind

    def name_error(self, name: str) -> str:
        """The rule of its names: "" or what is wrong."""
        return names.dns_subdomain_error(name)

    def default(self, obj: Json) -> None:
        """Fill in defaults, on every read of an object from a client."""

    def prepare_create(self, obj: Json, ctx: Context) -> None:
        """Reset what a creator may not set, drop what is behind a gate that is off."""
        if self.status:
            self.reset_status(obj)

    def reset_status(self, obj: Json) -> None:
        """Give a new object the empty status of its kind."""
        blank = typed.empty(self.kind)
        if "status" in blank:
            obj["status"] = blank["status"]
        else:
            obj.pop("status", None)

    def prepare_update(self, new: Json, old: Json, ctx: Context) -> None:
        """Keep what the main resource may not change."""
        if self.status:
            _keep(new, old, "status")

    def prepare_status(self, new: Json, old: Json, ctx: Context) -> None:
        """Keep everything but the status; of old kinds, only what is neither it nor metadata."""
        if self.status_with_metadata:
            for name in {*old, *new} - {"metadata", "status"}:
                _keep(new, old, name)
            return
        status = new.get("status")
        version = new["metadata"].get("resourceVersion")
        base = new["metadata"].get("generateName")
        new.clear()
        new.update(old)
        # of the metadata, this alone is forgotten to be reset
        new["metadata"] = {key: part for key, part in old["metadata"].items() if key != _BASE}
        if base:
            new["metadata"][_BASE] = base
        if version is not None:
            new["metadata"]["resourceVersion"] = version
        if status is not None:
            new["status"] = status

    def drop_gated(self, new: Json, old: Json | None, ctx: Context) -> None:
        """Remove fields whose gate is off, unless the old object uses them."""

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """The rules of a new object, metadata apart."""

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """The rules of a new state."""
        self.validate_create(new, ctx, report)

    def validate_status(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """The rules of a status write."""

    def admit(self, obj: Json, old: Json | None, ctx: Context) -> None:
        """Refuse what an admission plugin refuses.

        Raises:
            ApiError: with the code and reason of the plugin.
        """

    def admit_valid(self, obj: Json, ctx: Context) -> None:
        """Refuse what an admission plugin refuses after everything else has been checked.

        Raises:
            ApiError: with the code and reason of the plugin.
        """

    def spec_changed(self, new: Json, old: Json) -> bool:
        """True if an update has to raise the generation."""
        return bool(new.get("spec") != old.get("spec"))

    def warnings(self, obj: Json) -> list[str]:
        """Texts for ``Warning`` headers."""
        return []


_BASE = "generateName"


def _keep(new: Json, old: Json, name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def changed(new: Json, old: Snapshot) -> bool:
    """True if a write would change anything but the version."""
    return _without_version(new) != _without_version(old.object)


def _without_version(obj: Json) -> Json:
    meta: dict[str, Any] = {
        key: value for key, value in obj["metadata"].items() if key != "resourceVersion"
    }
    if "managedFields" in meta:
        meta["managedFields"] = timeless(meta["managedFields"])
    return {**obj, "metadata": meta}
