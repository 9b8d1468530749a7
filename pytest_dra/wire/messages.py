"""Message classes and full method names.

Source: field names and numbers of ``pluginregistration``, ``k8s.io.kubelet.pkg.apis.dra`` v1 and
v1beta1 and ``DRAResourceHealth`` v1 and v1alpha1 in k8s.io/kubelet 1.34 to 1.37.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory

PLUGIN_TYPE: Final = "DRAPlugin"
"""What ``PluginInfo.type`` of a DRA driver is."""

_STRING = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
_BOOL = descriptor_pb2.FieldDescriptorProto.TYPE_BOOL
_INT64 = descriptor_pb2.FieldDescriptorProto.TYPE_INT64

_Field = tuple[str, int, Any]
"""Name, number, kind: a scalar type, a message name, ``enum:Name``; ``[kind]`` is repeated."""

REGISTRATION_PACKAGE = "pluginregistration"
_REGISTRATION: dict[str, list[_Field]] = {
    "InfoRequest": [],
    "PluginInfo": [
        ("type", 1, _STRING),
        ("name", 2, _STRING),
        ("endpoint", 3, _STRING),
        ("supported_versions", 4, [_STRING]),
    ],
    "RegistrationStatus": [("plugin_registered", 1, _BOOL), ("error", 2, _STRING)],
    "RegistrationStatusResponse": [],
}

_DRA: dict[str, list[_Field]] = {
    "Claim": [("namespace", 1, _STRING), ("uid", 2, _STRING), ("name", 3, _STRING)],
    "Device": [
        ("request_names", 1, [_STRING]),
        ("pool_name", 2, _STRING),
        ("device_name", 3, _STRING),
        ("cdi_device_ids", 4, [_STRING]),
        ("share_id", 5, "optional"),
    ],
    "NodePrepareResourcesRequest": [("claims", 1, ["Claim"])],
    "NodePrepareResourceResponse": [("devices", 1, ["Device"]), ("error", 2, _STRING)],
    "NodePrepareResourcesResponse": [("claims", 1, {"map": "NodePrepareResourceResponse"})],
    "NodeUnprepareResourcesRequest": [("claims", 1, ["Claim"])],
    "NodeUnprepareResourceResponse": [("error", 1, _STRING)],
    "NodeUnprepareResourcesResponse": [("claims", 1, {"map": "NodeUnprepareResourceResponse"})],
}

_HEALTH: dict[str, list[_Field]] = {
    "NodeWatchResourcesRequest": [],
    "DeviceIdentifier": [("pool_name", 1, _STRING), ("device_name", 2, _STRING)],
    "DeviceHealth": [
        ("device", 1, "DeviceIdentifier"),
        ("health", 2, "enum:HealthStatus"),
        ("last_updated_time", 3, _INT64),
        ("health_check_timeout_seconds", 4, _INT64),
        ("message", 5, _STRING),
    ],
    "NodeWatchResourcesResponse": [("devices", 1, ["DeviceHealth"])],
}
_HEALTH_ENUMS = {"HealthStatus": {"UNKNOWN": 0, "HEALTHY": 1, "UNHEALTHY": 2}}


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _set_type(field: descriptor_pb2.FieldDescriptorProto, package: str, kind: Any) -> None:
    if isinstance(kind, str) and kind.startswith("enum:"):
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_ENUM
        field.type_name = f".{package}.{kind.removeprefix('enum:')}"
    elif isinstance(kind, str):
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{package}.{kind}"
    else:
        field.type = kind


def _add_map(
    message: descriptor_pb2.DescriptorProto,
    field: descriptor_pb2.FieldDescriptorProto,
    package: str,
    value: str,
) -> None:
    entry = message.nested_type.add(name=f"{_camel(field.name)}Entry")
    entry.options.map_entry = True
    for name, number, kind in (("key", 1, _STRING), ("value", 2, value)):
        part = entry.field.add(name=name, number=number)
        part.label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        _set_type(part, package, kind)
    field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
    field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
    field.type_name = f".{package}.{message.name}.{entry.name}"


def _build(
    package: str,
    messages: dict[str, list[_Field]],
    enums: dict[str, dict[str, int]] | None = None,
) -> dict[str, Any]:
    """Make the message classes of one package, each package in a pool of its own.

    A pool of its own, because another library in the same process may have registered the same
    names in the default pool.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"pytest_dra/{package}.proto", package=package, syntax="proto3"
    )
    for enum_name, values in (enums or {}).items():
        enum = file.enum_type.add(name=enum_name)
        for name, number in values.items():
            enum.value.add(name=name, number=number)
    for message_name, fields in messages.items():
        message = file.message_type.add(name=message_name)
        for name, number, kind in fields:
            field = message.field.add(name=name, number=number)
            field.label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
            if isinstance(kind, dict):
                _add_map(message, field, package, kind["map"])
            elif isinstance(kind, list):
                field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
                _set_type(field, package, kind[0])
            elif kind == "optional":
                field.type = _STRING
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{name}")
            else:
                _set_type(field, package, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }


@dataclasses.dataclass(frozen=True, slots=True)
class Method:
    """One gRPC method: its service, name and message classes (protobuf, made at import)."""

    service: str
    name: str
    request: Any
    response: Any

    @property
    def path(self) -> str:
        """The full method path as it stands on the wire."""
        return f"/{self.service}/{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class DraMethods:
    """Both methods of one DRAPlugin version, and the message class of a device."""

    prepare: Method
    unprepare: Method
    claim: Any
    device: Any


_registration = _build(REGISTRATION_PACKAGE, _REGISTRATION)
_REGISTRATION_SERVICE = f"{REGISTRATION_PACKAGE}.Registration"

GET_INFO: Final = Method(
    _REGISTRATION_SERVICE, "GetInfo", _registration["InfoRequest"], _registration["PluginInfo"]
)
NOTIFY_REGISTRATION_STATUS: Final = Method(
    _REGISTRATION_SERVICE,
    "NotifyRegistrationStatus",
    _registration["RegistrationStatus"],
    _registration["RegistrationStatusResponse"],
)


def _dra_methods(version: str) -> DraMethods:
    package = f"k8s.io.kubelet.pkg.apis.dra.{version}"
    messages = {name: list(fields) for name, fields in _DRA.items()}
    if version == "v1beta1":
        messages["Device"] = [field for field in messages["Device"] if field[0] != "share_id"]
    made = _build(package, messages)
    service = f"{package}.DRAPlugin"
    return DraMethods(
        prepare=Method(
            service,
            "NodePrepareResources",
            made["NodePrepareResourcesRequest"],
            made["NodePrepareResourcesResponse"],
        ),
        unprepare=Method(
            service,
            "NodeUnprepareResources",
            made["NodeUnprepareResourcesRequest"],
            made["NodeUnprepareResourcesResponse"],
        ),
        claim=made["Claim"],
        device=made["Device"],
    )


DRA_METHODS: Final[dict[str, DraMethods]] = {
    "v1.DRAPlugin": _dra_methods("v1"),
    "v1beta1.DRAPlugin": _dra_methods("v1beta1"),
}
"""By the name that ``PluginInfo.supported_versions`` uses, which is not the name on the wire."""

DRA_API_NAMES: Final = tuple(DRA_METHODS)
"""The names that a kubelet of 1.34 to 1.37 knows, newest first."""


def _health_method(version: str) -> Method:
    made = _build(version, _HEALTH, _HEALTH_ENUMS)
    return Method(
        f"{version}.DRAResourceHealth",
        "NodeWatchResources",
        made["NodeWatchResourcesRequest"],
        made["NodeWatchResourcesResponse"],
    )


HEALTH_METHODS: Final[dict[str, Method]] = {
    "v1.DRAResourceHealth": _health_method("v1"),
    "v1alpha1.DRAResourceHealth": _health_method("v1alpha1"),
}
"""By advertised name; a kubelet of 1.37 prefers v1, older ones know v1alpha1 only."""
