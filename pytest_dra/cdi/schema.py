"""The fields of a CDI spec, by block. Source: CDI SPEC.md 1.1.0, with the library's spelling."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping


class Kind(enum.Enum):
    """The shape of a value."""

    STRING = "a string"
    INT64 = "an integer of 64 bits"
    UINT32 = "an unsigned integer of 32 bits"
    BOOL = "a boolean"
    LIST = "a list"
    MAP = "a map of strings"
    BLOCK = "an object"


@dataclasses.dataclass(frozen=True)
class Shape:
    """The type of a field.

    ``nullable`` is what the library keeps by reference: a null stays a null there, while it is
    the empty value elsewhere.
    """

    kind: Kind
    item: Shape | None = None
    fields: Mapping[str, Shape] = dataclasses.field(default_factory=dict)
    nullable: bool = False


def _list(item: Shape) -> Shape:
    return Shape(Kind.LIST, item=item, nullable=True)


def _block(fields: Mapping[str, Shape], *, nullable: bool = False) -> Shape:
    return Shape(Kind.BLOCK, fields=fields, nullable=nullable)


STRING = Shape(Kind.STRING)
INT64 = Shape(Kind.INT64)
UINT32 = Shape(Kind.UINT32)
_OPTIONAL_UINT32 = Shape(Kind.UINT32, nullable=True)
_STRINGS = _list(STRING)
_ANNOTATIONS = Shape(Kind.MAP, item=STRING, nullable=True)

DEVICE_NODE = _block(
    {
        "path": STRING,
        "hostPath": STRING,
        "type": STRING,
        "major": INT64,
        "minor": INT64,
        "fileMode": _OPTIONAL_UINT32,
        "permissions": STRING,
        "uid": _OPTIONAL_UINT32,
        "gid": _OPTIONAL_UINT32,
    },
    nullable=True,
)
NET_DEVICE = _block({"hostInterfaceName": STRING, "name": STRING}, nullable=True)
MOUNT = _block(
    {"hostPath": STRING, "containerPath": STRING, "options": _STRINGS, "type": STRING},
    nullable=True,
)
HOOK = _block(
    {
        "hookName": STRING,
        "path": STRING,
        "args": _STRINGS,
        "env": _STRINGS,
        "timeout": Shape(Kind.INT64, nullable=True),
    },
    nullable=True,
)
INTEL_RDT = _block(
    {
        "closID": STRING,
        "l3CacheSchema": STRING,
        "memBwSchema": STRING,
        "schemata": _STRINGS,
        "enableMonitoring": Shape(Kind.BOOL),
    },
    nullable=True,
)
CONTAINER_EDITS = _block(
    {
        "env": _STRINGS,
        "deviceNodes": _list(DEVICE_NODE),
        "netDevices": _list(NET_DEVICE),
        "mounts": _list(MOUNT),
        "hooks": _list(HOOK),
        "intelRdt": INTEL_RDT,
        "additionalGids": _list(UINT32),
    }
)
DEVICE = _block(
    {"name": STRING, "annotations": _ANNOTATIONS, "containerEdits": CONTAINER_EDITS},
)
SPEC = _block(
    {
        "cdiVersion": STRING,
        "kind": STRING,
        "annotations": _ANNOTATIONS,
        "devices": _list(DEVICE),
        "containerEdits": CONTAINER_EDITS,
    },
    nullable=True,
)
