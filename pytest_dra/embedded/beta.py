"""resource.k8s.io/v1beta1: the same objects in their older form. v1beta2 has the form of v1.

A device of v1beta1 keeps all but its name under ``basic``, and a request has the fields of
``exactly`` itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.spec import Json

TYPES: Final = "resourcev1beta1"
"""Group of the older types in the table."""

_OWN: Final = ("name", "firstAvailable")
"""Fields of a request that are no part of ``exactly``."""

_DEVICE_FIELD: Final = re.compile(r"(spec\.devices\[\d+\])\.(?!name\b)(.+)")

Convert = Callable[[Json], Json]


def _devices(spec: Json, convert: Convert) -> Json:
    devices = spec.get("devices")
    return {**spec, "devices": [convert(device) for device in devices]} if devices else spec


def _to_basic(device: Json) -> Json:
    return {
        "name": device["name"],
        "basic": {name: value for name, value in device.items() if name != "name"},
    }


def _from_basic(device: Json) -> Json:
    return {"name": device["name"], **(device.get("basic") or {})}


def _requests(spec: Json, convert: Convert) -> Json:
    requests = spec["devices"].get("requests")
    if not requests:
        return spec
    return {
        **spec,
        "devices": {**spec["devices"], "requests": [convert(request) for request in requests]},
    }


def _flat(request: Json) -> Json:
    exactly = request.get("exactly") or {"deviceClassName": ""}
    return {**{name: value for name, value in request.items() if name != "exactly"}, **exactly}


def _nested(request: Json) -> Json:
    own: Json = {name: request[name] for name in _OWN if name in request}
    exactly = {name: value for name, value in request.items() if name not in _OWN}
    # the class name is always there, but alone and empty it means nothing
    if exactly.keys() != {"deviceClassName"} or exactly["deviceClassName"]:
        own["exactly"] = exactly
    return own


def _in_spec(convert: Convert) -> Convert:
    return lambda obj: {**obj, "spec": convert(obj["spec"])}


def _in_template(convert: Convert) -> Convert:
    return lambda obj: {
        **obj,
        "spec": {**obj["spec"], "spec": convert(obj["spec"]["spec"])},
    }


VIEWS: Final[Mapping[str, tuple[Convert, Convert]]] = MappingProxyType(
    {
        "ResourceSlice": (
            _in_spec(lambda spec: _devices(spec, _to_basic)),
            _in_spec(lambda spec: _devices(spec, _from_basic)),
        ),
        "ResourceClaim": (
            _in_spec(lambda spec: _requests(spec, _flat)),
            _in_spec(lambda spec: _requests(spec, _nested)),
        ),
        "ResourceClaimTemplate": (
            _in_template(lambda spec: _requests(spec, _flat)),
            _in_template(lambda spec: _requests(spec, _nested)),
        ),
    }
)
"""By kind: from v1 to v1beta1, and back."""


def field_path(path: str) -> str:
    """The path of a field of a v1 slice in v1beta1; those of claims stay as they are."""
    return _DEVICE_FIELD.sub(r"\1.basic.\2", path)
