"""Edits of the metadata that every kind of the fuzz has (:mod:`tests.upstream.apiserverkinds`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

Edits = Mapping[str, tuple[Any, ...]]
"""Values by the path where they are set."""

_UID: Final = "44444444-4444-4444-8444-444444444444"
_TIME: Final = "2026-01-01T00:00:00Z"

METADATA: Final[Edits] = {
    "metadata.labels": ({"a": "1"}, {"a": "2", "b": ""}, {}, None, {"k": "v", "a": "1"}),
    "metadata.annotations": ({"x": "y"}, {"example.com/z": "t"}, {}, None),
    "metadata.finalizers": (["example.com/f"], ["example.com/f", "example.com/g"], []),
    "metadata.ownerReferences": (
        [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": _UID}],
        [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": _UID, "controller": True}],
    ),
}
"""Edits of every kind's metadata."""

BAD_METADATA: Final[Edits] = {
    "metadata.labels": ({"a b": "c"}, {"a": "-x-"}, {"": "x"}, {"a": 1}, [], "x"),
    "metadata.annotations": ({"a b": "c"}, {"a": 1}, {"x/y/z": "1"}),
    "metadata.finalizers": (["nodomain"], [""], ["a b/c"], "x", ["orphan", "foregroundDeletion"]),
    "metadata.ownerReferences": (
        [{"apiVersion": "v1", "kind": "Pod", "name": "p"}],
        [{"apiVersion": "", "kind": "", "name": "", "uid": ""}],
        [
            {"apiVersion": "v1", "kind": "P", "name": "p", "uid": "a", "controller": True},
            {"apiVersion": "v1", "kind": "Q", "name": "q", "uid": "b", "controller": True},
        ],
        [{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "x"}],
    ),
    "metadata.name": ("", "Upper", "a_b", "-x", "a..b", {"$repeat": ["x", 254]}),
    "metadata.namespace": ("elsewhere",),
    "metadata.uid": (_UID,),
    "metadata.creationTimestamp": (_TIME, "yesterday"),
    "metadata.deletionTimestamp": (_TIME,),
    "metadata.deletionGracePeriodSeconds": (5,),
    "metadata.generation": (7, -1),
    "metadata.generateName": ("Bad_", "n"),
    "metadata.selfLink": ("/x",),
    "metadata.managedFields": (
        [],
        [{}],
        [{"manager": "m", "operation": "Update"}],
        [{"manager": "m", "operation": "Frob", "apiVersion": "v1", "fieldsType": "FieldsV1"}],
    ),
    "metadata.foo": (1,),
    "foo": ("bar",),
    "spec.foo": (1,),
    "kind": ("Other", ""),
    "apiVersion": ("v1", "example.com/v1", ""),
}
"""Spoils of every kind's metadata and type."""
