"""Clients of the two sockets of a plugin; every call is written down on the timeline."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from typing import TypeVar

from pytest_dra.kubelet.answers import ClaimRef
from pytest_dra.kubelet.answers import GetInfoReply
from pytest_dra.kubelet.answers import NodeReply
from pytest_dra.kubelet.answers import Reply
from pytest_dra.kubelet.answers import bounded
from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.answers import claim_answers
from pytest_dra.kubelet.answers import claims_json
from pytest_dra.kubelet.answers import info_json
from pytest_dra.kubelet.answers import plugin_info
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.connection import Connection
from pytest_dra.kubelet.connection import Outcome
from pytest_dra.kubelet.connection import shown
from pytest_dra.kubelet.connection import socket_authority
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.spec import Json
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import RegistrationCall
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.wire import DRA_METHODS
from pytest_dra.wire import GET_INFO
from pytest_dra.wire import NOTIFY_REGISTRATION_STATUS
from pytest_dra.wire import DraMethods
from pytest_dra.wire import Method

DRA_AUTHORITY = "localhost"
"""The ``:authority`` of the kubelet on a DRA socket."""

CUT_REMARK = "(recorded in part: the answer is too long)"
"""Stands in ``details`` of a call whose answer the timeline does not hold as a whole."""


C = TypeVar("C", bound="_Client")


class _Client:
    """A connection and where its calls are written down. A context manager."""

    def __init__(self, connection: Connection, timeline: Timeline, instance: str) -> None:
        self._connection = connection
        self._timeline = timeline
        self._instance = instance

    def __enter__(self: C) -> C:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def is_connected(self) -> bool:
        """True while the connection stands."""
        return self._connection.ready

    def connected(self, deadline: Deadline) -> bool:
        """Wait for the connection; False at the deadline."""
        return self._connection.wait_ready(deadline.left_s())

    def connected_within(self, span_s: float) -> bool:
        """The same for a span of the kubelet's own clock."""
        return self._connection.wait_ready(span_s)

    def close(self) -> None:
        """Close the connection; calls that run end as CANCELLED."""
        self._connection.close()


class RegistrationClient(_Client):
    """The kubelet's side of one registration socket.

    Args:
        socket: absolute path of the socket.
        authority: what stands in ``:authority``; the kubelet's percent-encoded path if None.
    """

    def __init__(
        self,
        socket: Path,
        *,
        timeline: Timeline,
        instance: str,
        authority: str | None = None,
        settings: KubeletSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.socket = socket
        connection = Connection(
            socket,
            authority=socket_authority(socket) if authority is None else authority,
            settings=settings or KubeletSettings(),
            reconnect=False,
            clock=clock,
        )
        super().__init__(connection, timeline, instance)

    def get_info(self, *, timeout_s: float = 1.0) -> GetInfoReply:
        """Ask the plugin who it is; UNAVAILABLE at once where nobody listens."""
        outcome = self._connection.call(GET_INFO, GET_INFO.request(), timeout_s=timeout_s)
        info = plugin_info(outcome.message) if outcome.message is not None else None
        serial = self._record(GET_INFO, {}, info_json(info) if info else None, outcome)
        return GetInfoReply(
            code=outcome.code,
            details=outcome.details,
            duration_s=outcome.duration_s,
            serial=serial,
            info=info,
        )

    def notify(self, *, registered: bool, error: str = "", timeout_s: float = 5.0) -> Reply:
        """Tell the plugin whether it is registered now, and if not, why."""
        method = NOTIFY_REGISTRATION_STATUS
        outcome = self._connection.call(
            method,
            method.request(plugin_registered=registered, error=error),
            timeout_s=timeout_s,
        )
        request: Json = {"plugin_registered": registered, "error": error}
        response: Json | None = {} if outcome.message is not None else None
        serial = self._record(method, request, response, outcome)
        return Reply(
            code=outcome.code,
            details=outcome.details,
            duration_s=outcome.duration_s,
            serial=serial,
        )

    def _record(
        self, method: Method, request: Json, response: Json | None, outcome: Outcome
    ) -> int:
        response, remark = _recorded(response)
        call = RegistrationCall(
            instance=self._instance,
            socket=shown(self.socket),
            method=method.name,
            request=bounded(request)[0],
            response=response,
            code=outcome.code,
            details=outcome.details + remark,
            duration_s=outcome.duration_s,
        )
        return self._timeline.add(call).serial


class DraClient(_Client):
    """The kubelet's side of one DRA socket; it connects at once and again after each loss.

    Args:
        endpoint: absolute path of the socket.
        driver: driver name, for the timeline.
        on_change: called with True when the connection is ready, False when it is lost.
    """

    def __init__(
        self,
        endpoint: Path,
        *,
        timeline: Timeline,
        instance: str,
        driver: str = "",
        settings: KubeletSettings | None = None,
        on_change: Callable[[bool], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.driver = driver
        connection = Connection(
            endpoint,
            authority=DRA_AUTHORITY,
            settings=settings or KubeletSettings(),
            reconnect=True,
            on_change=on_change,
            clock=clock,
        )
        super().__init__(connection, timeline, instance)

    def prepare(
        self,
        claims: Sequence[ClaimRef],
        *,
        service: str = "v1.DRAPlugin",
        timeout_s: float = 45.0,
        wait_for_ready: bool = False,
        unknown: bytes = b"",
    ) -> NodeReply:
        """Call NodePrepareResources.

        Args:
            claims: what to prepare, in this order, taken as it is.
            service: the version to call, as advertised in GetInfo.
            timeout_s: the deadline that the driver is told.
            wait_for_ready: wait for a connection instead of failing with UNAVAILABLE.
            unknown: encoded fields that no version has, for the request and each of its claims.

        Raises:
            ValueError: ``service`` is none of the kubelet's.
        """
        method = _methods(service).prepare
        request = _request(method, claims)
        for message in (request, *request.claims) if unknown else ():
            message.MergeFromString(unknown)
        outcome = self._connection.call(
            method, request, timeout_s=timeout_s, wait_for_ready=wait_for_ready
        )
        return self._recorded_reply(method, claims, outcome, service=service)

    def unprepare(
        self,
        claims: Sequence[ClaimRef],
        *,
        service: str = "v1.DRAPlugin",
        timeout_s: float = 45.0,
        wait_for_ready: bool = False,
    ) -> NodeReply:
        """Call NodeUnprepareResources; arguments and errors as for :meth:`prepare`."""
        method = _methods(service).unprepare
        outcome = self._connection.call(
            method, _request(method, claims), timeout_s=timeout_s, wait_for_ready=wait_for_ready
        )
        return self._recorded_reply(method, claims, outcome, service=service)

    def prepare_bytes(
        self, request: bytes, *, service: str = "v1.DRAPlugin", timeout_s: float = 45.0
    ) -> NodeReply:
        """Call NodePrepareResources with what may be no message at all; recorded without claims.

        Raises:
            ValueError: as :meth:`prepare`.
        """
        method = _methods(service).prepare
        outcome = self._connection.call(method, RawMessage(request), timeout_s=timeout_s)
        return self._recorded_reply(method, (), outcome, service=service)

    def watch(self, method: Method, on_message: Callable[[Any], None]) -> Outcome:
        """Open a health stream and follow it to its end; it is not written down here."""
        return self._connection.stream(method, method.request(), on_message)

    def _recorded_reply(
        self, method: Method, claims: Sequence[ClaimRef], outcome: Outcome, *, service: str
    ) -> NodeReply:
        answers = claim_answers(outcome.message) if outcome.message is not None else None
        response: Json | None = None
        if answers is not None:
            with_devices = method.name == "NodePrepareResources"
            response = claims_json(answers, with_devices=with_devices)
        response, remark = _recorded(response)
        entry = self._timeline.add(
            DraCall(
                instance=self._instance,
                driver=bounded_text(self.driver),
                service=service,
                method=method.name,
                claims=tuple(_claim_json(claim) for claim in claims),
                response=response,
                code=outcome.code,
                details=outcome.details + remark,
                duration_s=outcome.duration_s,
            )
        )
        return NodeReply(
            code=outcome.code,
            details=outcome.details,
            duration_s=outcome.duration_s,
            serial=entry.serial,
            claims=answers or {},
        )


@dataclasses.dataclass(frozen=True, slots=True)
class RawMessage:
    """Bytes in the place of a message."""

    data: bytes

    def SerializeToString(self) -> bytes:
        """The bytes as they are."""
        return self.data


def _methods(service: str) -> DraMethods:
    if service not in DRA_METHODS:
        raise ValueError(f"service {service!r} is none of {', '.join(DRA_METHODS)}")
    return DRA_METHODS[service]


def _request(method: Method, claims: Sequence[ClaimRef]) -> Any:
    request = method.request()
    for claim in claims:
        request.claims.add(namespace=claim.namespace, uid=claim.uid, name=claim.name)
    return request


def _claim_json(claim: ClaimRef) -> Json:
    return {"namespace": claim.namespace, "uid": claim.uid, "name": claim.name}


def _recorded(response: Json | None) -> tuple[Json | None, str]:
    if response is None:
        return None, ""
    short, cut = bounded(response)
    return short, CUT_REMARK if cut else ""
