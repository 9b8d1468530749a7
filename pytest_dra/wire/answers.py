"""What crossed the two sockets, as plain values: requests, answers and their gRPC status.

Protobuf messages stay inside ``wire`` and ``kubelet``; checks and cases read these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

OK = "OK"
"""Name of the gRPC status of a call that was answered."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimRef:
    """A claim as a kubelet names it in a call."""

    namespace: str
    uid: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class PluginInfo:
    """The answer to GetInfo."""

    type: str
    name: str
    endpoint: str
    supported_versions: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How a call ended.

    ``code`` is the gRPC status name (bytes that are no message give ``INTERNAL``), ``serial`` the
    place of the call on the timeline.
    """

    code: str
    details: str
    duration_s: float
    serial: int

    @property
    def ok(self) -> bool:
        """True if the driver answered with status OK."""
        return self.code == OK


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GetInfoReply(Reply):
    """``info`` is None unless ``code`` is OK."""

    info: PluginInfo | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDevice:
    """One device of a Prepare answer; ``share_id`` is None where it was not set."""

    request_names: tuple[str, ...]
    pool_name: str
    device_name: str
    cdi_device_ids: tuple[str, ...]
    share_id: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimAnswer:
    """The entry of one claim; ``error`` is empty if all went well, ``devices`` for Unprepare."""

    error: str
    devices: tuple[PreparedDevice, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeReply(Reply):
    """The answer to Prepare or Unprepare: entries by claim uid, empty unless ``code`` is OK."""

    claims: Mapping[str, ClaimAnswer]

    def error_for(self, uid: str) -> str:
        """Why the claim was refused, in one line; empty if it was accepted.

        A status other than OK refuses every claim; a missing entry is an error too.
        """
        if not self.ok:
            return f"{self.code}: {self.details}"
        if uid not in self.claims:
            return f"no entry for claim uid {uid}"
        return self.claims[uid].error

    def devices_of(self, uid: str) -> tuple[PreparedDevice, ...]:
        """The devices of one claim, empty where there is no entry."""
        answer = self.claims.get(uid)
        return answer.devices if answer else ()
