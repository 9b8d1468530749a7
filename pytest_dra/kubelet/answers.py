"""What plugins answer, as plain values, and how much of it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_dra.spec import Json
from pytest_dra.wire.answers import ClaimAnswer
from pytest_dra.wire.answers import ClaimRef
from pytest_dra.wire.answers import GetInfoReply
from pytest_dra.wire.answers import NodeReply
from pytest_dra.wire.answers import PluginInfo
from pytest_dra.wire.answers import PreparedDevice
from pytest_dra.wire.answers import Reply

RECORDED_TEXT_LIMIT = 4096
"""Characters of one string that the timeline keeps: far above every legal name and any error text
that somebody reads, far below what could fill the memory."""

RECORDED_LIMIT = 1 << 20
"""Characters of one message that the timeline keeps: 32 claims of 128 devices with ordinary names
fit in."""


__all__ = [
    "ClaimAnswer",
    "ClaimRef",
    "GetInfoReply",
    "NodeReply",
    "PluginInfo",
    "PreparedDevice",
    "Reply",
]


def plugin_info(message: Any) -> PluginInfo:
    """A PluginInfo message as a value."""
    return PluginInfo(
        type=message.type,
        name=message.name,
        endpoint=message.endpoint,
        supported_versions=tuple(message.supported_versions),
    )


def claim_answers(message: Any) -> dict[str, ClaimAnswer]:
    """The claims map of a Prepare or Unprepare answer as values."""
    return {
        uid: ClaimAnswer(
            error=answer.error,
            devices=tuple(_device(device) for device in getattr(answer, "devices", ())),
        )
        for uid, answer in message.claims.items()
    }


def _device(message: Any) -> PreparedDevice:
    # The v1beta1 message has no such field at all.
    has_share_id = "share_id" in message.DESCRIPTOR.fields_by_name and message.HasField("share_id")
    return PreparedDevice(
        request_names=tuple(message.request_names),
        pool_name=message.pool_name,
        device_name=message.device_name,
        cdi_device_ids=tuple(message.cdi_device_ids),
        share_id=message.share_id if has_share_id else None,
    )


def info_json(info: PluginInfo) -> Json:
    """``info`` with the proto field names."""
    return {
        "type": info.type,
        "name": info.name,
        "endpoint": info.endpoint,
        "supported_versions": list(info.supported_versions),
    }


def claims_json(claims: Mapping[str, ClaimAnswer], *, with_devices: bool) -> Json:
    """The claims map with the proto field names; ``with_devices`` False for Unprepare."""
    made: Json = {}
    for uid, answer in claims.items():
        entry: Json = {"error": answer.error}
        if with_devices:
            entry["devices"] = [_device_json(device) for device in answer.devices]
        made[uid] = entry
    return made


def _device_json(device: PreparedDevice) -> Json:
    made: Json = {
        "request_names": list(device.request_names),
        "pool_name": device.pool_name,
        "device_name": device.device_name,
        "cdi_device_ids": list(device.cdi_device_ids),
    }
    if device.share_id is not None:
        made["share_id"] = device.share_id
    return made


def bounded_text(text: str, limit: int = RECORDED_TEXT_LIMIT) -> str:
    """``text``, or its beginning and a remark on its length."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... ({len(text)} characters)"


def bounded(message: Json, limit: int = RECORDED_LIMIT) -> tuple[Json, bool]:
    """A copy of ``message`` of at most about ``limit`` characters, and whether anything is missing.

    Strings are shortened; members of lists and maps beyond the limit are left out whole, so that
    every entry that is there has its usual shape.
    """
    bound = _Bound(limit)
    made: Json = bound.copy(message)
    return made, bound.cut


class _Bound:
    def __init__(self, limit: int) -> None:
        self.left = limit
        self.cut = False

    def copy(self, value: Any) -> Any:
        if isinstance(value, str):
            short = bounded_text(value)
            self.cut = self.cut or len(short) != len(value)
            self.left -= len(short)
            return short
        self.left -= 1
        if isinstance(value, dict):
            return {
                self.copy(key): self.copy(part)
                for key, part in value.items()
                if self._has_room_for(part)
            }
        if isinstance(value, list):
            return [self.copy(part) for part in value if self._has_room_for(part)]
        return value

    def _has_room_for(self, part: Any) -> bool:
        # Scalars close to the limit stay: an entry without its error text would read as success.
        if self.left > 0 or (isinstance(part, (str, bool)) and self.left > -RECORDED_LIMIT):
            return True
        self.cut = True
        return False
