"""ObjectMeta: what the server fills in, keeps from the stored object, and checks."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.scalars import now
from pytest_dra.spec import Json

GENERATED_BASE_MAX: Final = 58
"""A generated name is cut here, so that five characters more stay within 63."""

_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no look-alikes, so that no words come out."""

_SUFFIX_LENGTH: Final = 5

GC_FINALIZERS: Final = ("foregroundDeletion", "orphan")
"""Finalizers without a slash that the garbage collector owns."""

_PLAIN_FINALIZERS: Final = (*GC_FINALIZERS, "kubernetes")

NameCheck = Callable[[str], str]
"""A name check: "" or what is wrong."""


def generated_name(base: str) -> str:
    """``base`` cut to 58 characters and five random ones."""
    number = int.from_bytes(os.urandom(8), "big")
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, letter = divmod(number, len(_SUFFIX_LETTERS))
        suffix += _SUFFIX_LETTERS[letter]
    return base[:GENERATED_BASE_MAX] + suffix


def fill_new(meta: Json, *, namespace: str, generation: bool) -> None:
    """Set what the server decides on creation; the name is generated if there is none."""
    for system in (
        "selfLink",
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
    ):
        meta.pop(system, None)
    if namespace:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = now()
    if generation:
        meta["generation"] = 1
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = generated_name(meta["generateName"])


_KEPT: Final = ("uid", "creationTimestamp", "generation", "namespace", "name")


def keep_old(meta: Json, old: Json) -> None:
    """Carry over what an update cannot change."""
    for name in _KEPT:
        if name in old:
            meta[name] = old[name]
        else:
            meta.pop(name, None)
    meta.pop("selfLink", None)
    meta.pop("managedFields", None)
    if "deletionTimestamp" in old:
        meta["deletionTimestamp"] = old["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in old:
            meta["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def validate(meta: Json, name_error: NameCheck, report: Report, path: str = "metadata") -> None:
    """The rules of a new object's metadata."""
    generate = meta.get("generateName")
    if generate:
        # a trailing dash is fine in a prefix, so check it as if something followed
        trimmed = generate[:-1] + "a" if generate.endswith("-") else generate
        report.format(f"{path}.generateName", generate, name_error(trimmed))
    name = meta.get("name", "")
    if not name:
        report.required(f"{path}.name", "name or generateName is required")
    else:
        report.format(f"{path}.name", name, name_error(name))
    if meta.get("generation", 0) < 0:
        report.invalid(f"{path}.generation", meta["generation"], "must not be negative")
    validate_common(meta, report, path)


def validate_common(meta: Json, report: Report, path: str = "metadata") -> None:
    """Labels, annotations, finalizers and owners, which updates may change too."""
    validate_labels(meta, report, path)
    finalizers = meta.get("finalizers") or []
    for index, finalizer in enumerate(finalizers):
        broken = names.label_key_errors(finalizer)
        for error in broken:
            report.invalid(f"{path}.finalizers", finalizer, error)
        if broken:
            continue
        if "/" not in finalizer and finalizer not in _PLAIN_FINALIZERS:
            report.invalid(
                f"{path}.finalizers[{index}]", finalizer, "must be fully qualified: prefix/name"
            )
    if all(finalizer in finalizers for finalizer in GC_FINALIZERS):
        report.invalid(
            f"{path}.finalizers", finalizers, "foregroundDeletion and orphan exclude each other"
        )
    _validate_owners(meta.get("ownerReferences") or [], report, path)


def validate_labels(meta: Json, report: Report, path: str = "metadata") -> None:
    """Keys and values of labels, keys of annotations."""
    for key, value in (meta.get("labels") or {}).items():
        for error in names.label_key_errors(key):
            report.invalid(f"{path}.labels", key, error)
        report.format(f"{path}.labels", value, names.label_value_error(value))
    for key in meta.get("annotations") or {}:
        for error in names.label_key_errors(key.lower()):
            report.invalid(f"{path}.annotations", key, error)


def _validate_owners(owners: list[Json], report: Report, path: str) -> None:
    controllers = 0
    for index, owner in enumerate(owners):
        where = f"{path}.ownerReferences[{index}]"
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner[name]:
                report.required(f"{where}.{name}", "must not be empty")
        if owner["kind"] == "Event" and owner["apiVersion"] == "v1":
            report.invalid(where, "Event", "is disallowed from being an owner")
        controllers += owner.get("controller") is True
    if controllers > 1:
        report.invalid(f"{path}.ownerReferences", owners, "only one reference can be controller")


def validate_update(meta: Json, old: Json, report: Report) -> None:
    """What a new state may not do to the old one's metadata."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if meta.get(name) != old.get(name):
            report.invalid(f"metadata.{name}", meta.get(name), "field is immutable")
    if "deletionTimestamp" in old:
        kept: Any = old.get("finalizers") or []
        added = [text for text in meta.get("finalizers") or [] if text not in kept]
        if added:
            report.forbidden(
                "metadata.finalizers",
                f"no new finalizers can be added if the object is being deleted: {added}",
            )
    validate_common(meta, report)
