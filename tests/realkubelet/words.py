"""Calls and answers of the kubelet's gRPC services, in the words of the oracle's recordings."""

from __future__ import annotations

from typing import Any
from typing import Final

from pytest_dra.spec import Json
from pytest_dra.wire import GET_INFO
from pytest_dra.wire import NOTIFY_REGISTRATION_STATUS
from tests.upstream.kubelet_play import METHODS
from tests.upstream.kubelet_plugin import UNITS_S

TOLD: Final = (":authority", "content-type", "user-agent", "te", "grpc-accept-encoding")
"""Headers that a recording has."""

DIGITS: Final = 3
"""Of seconds of a deadline."""


def call_of(headers: Json, body: bytes) -> Json:
    """A request, by its headers and its only message."""
    path = headers[":path"]
    entry: Json = {"method": path.rpartition("/")[2], "path": path}
    timeout = headers.get("grpc-timeout")
    if timeout:
        entry["deadline"] = round(int(timeout[:-1]) * UNITS_S[timeout[-1]], DIGITS)
    entry["headers"] = {name: headers[name] for name in TOLD if name in headers}
    method = METHODS.get(path)
    if method is None:
        return entry
    request = method.request.FromString(body)
    if method is NOTIFY_REGISTRATION_STATUS:
        entry["registered"] = request.plugin_registered
        if request.error:
            entry["error"] = request.error
    if hasattr(request, "claims"):
        entry["claims"] = [
            {"uid": claim.uid, "name": claim.name, "namespace": claim.namespace}
            for claim in request.claims
        ]
    return entry


def answer_of(path: str, body: bytes) -> Json:
    """What an answer without error says besides its method."""
    method = METHODS.get(path)
    if method is None:
        return {}
    made = method.response.FromString(body)
    if method is GET_INFO:
        versions = list(made.supported_versions)
        about = {"type": made.type, "name": made.name, "endpoint": made.endpoint}
        return {"info": {**about, "versions": versions}}
    if hasattr(made, "claims"):
        return {"claims": [_claim(uid, made.claims[uid]) for uid in sorted(made.claims)]}
    if hasattr(made, "devices"):
        return {"devices": [_health(each) for each in made.devices]}
    return {}


def _claim(uid: str, answer: Any) -> Json:
    told: Json = {"uid": uid}
    if answer.error:
        told["error"] = answer.error
    devices = [_device(each) for each in getattr(answer, "devices", ())]
    return {**told, "devices": devices} if devices else told


def _device(given: Any) -> Json:
    told = {
        "requests": list(given.request_names),
        "pool": given.pool_name,
        "device": given.device_name,
        "cdi": list(given.cdi_device_ids),
        "share": given.share_id,
    }
    return {key: value for key, value in told.items() if value}


def _health(given: Any) -> Json:
    told = {
        "pool": given.device.pool_name,
        "device": given.device.device_name,
        "health": int(given.health),
        "updated": given.last_updated_time,
        "timeout": given.health_check_timeout_seconds,
        "message": given.message,
    }
    return {key: value for key, value in told.items() if value}
