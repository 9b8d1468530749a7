"""The DRAPlugin services, v1 and v1beta1: from protobuf calls to single claims and back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import grpc

from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import ConfigError
from pytest_dra.fake_driver.health import Health
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.wire import DRA_METHODS
from pytest_dra.wire import DraMethods

Answer = tuple[Prepared, ...] | ClaimError
"""What a Prepare has made of one claim."""

_log = logging.getLogger(__name__)


class DraService:
    """Answers Prepare and Unprepare, one entry for each claim of the call."""

    def __init__(self, preparer: Preparer, health: Health) -> None:
        self.preparer = preparer
        self.health = health

    def versions(self) -> Sequence[str]:
        """The DRAPlugin versions that are served, by the names that a driver advertises."""
        return tuple(DRA_METHODS)

    def handlers(self) -> list[grpc.GenericRpcHandler[Any, Any]]:
        """The gRPC handlers of all served versions, and those of the health."""
        own = [self.handler(version) for version in self.versions()]
        return [*own, *self.health.handlers()]

    def handler(self, version: str) -> grpc.GenericRpcHandler[Any, Any]:
        """The gRPC handler of one version."""
        methods = DRA_METHODS[version]

        def prepare(request: Any, context: grpc.ServicerContext) -> Any:
            refs = self.refs(request, context)
            return _prepare_response(methods, self.prepare(refs, _call(refs, context), context))

        def unprepare(request: Any, context: grpc.ServicerContext) -> Any:
            refs = self.refs(request, context)
            return _unprepare_response(methods, self.unprepare(refs, _call(refs, context)))

        return grpc.method_handlers_generic_handler(
            methods.prepare.service,
            {
                method.name: grpc.unary_unary_rpc_method_handler(
                    behaviour,
                    request_deserializer=method.request.FromString,
                    response_serializer=method.response.SerializeToString,
                )
                for method, behaviour in (
                    (methods.prepare, prepare),
                    (methods.unprepare, unprepare),
                )
            },
        )

    def refs(self, request: Any, context: grpc.ServicerContext) -> list[ClaimRef]:
        """The claims of a call."""
        return [
            ClaimRef(namespace=claim.namespace, name=claim.name, uid=claim.uid)
            for claim in request.claims
        ]

    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        """Prepare all claims of a call; a bad claim does not spoil the others."""
        return {ref.uid: self.prepare_one(ref, call) for ref in refs}

    def prepare_one(self, ref: ClaimRef, call: Call) -> Answer:
        """Prepare one claim of a call."""
        try:
            return self.preparer.prepare(ref, call)
        except ConfigError as error:
            _log.warning("Prepare: claim %s: its configuration is bad (values are not logged)", ref)
            return error
        except ClaimError as error:
            _log.warning("Prepare: %s", error)
            return error

    def unprepare(self, refs: Sequence[ClaimRef], call: Call) -> Mapping[str, str]:
        """Unprepare all claims of a call; the value is the error, empty for none."""
        return {ref.uid: self.unprepare_one(ref, call) for ref in refs}

    def unprepare_one(self, ref: ClaimRef, call: Call) -> str:
        """Unprepare one claim of a call."""
        try:
            self.preparer.unprepare(ref, call)
        except ClaimError as error:
            _log.warning("Unprepare: %s", error)
            return str(error)
        return ""


def _call(refs: Sequence[ClaimRef], context: grpc.ServicerContext) -> Call:
    return Call(size=len(refs), active=context.is_active, left_s=context.time_remaining)


def _prepare_response(methods: DraMethods, answers: Mapping[str, Answer]) -> Any:
    response = methods.prepare.response()
    shares = "share_id" in methods.device.DESCRIPTOR.fields_by_name
    for uid, answer in answers.items():
        entry = response.claims[uid]
        if isinstance(answer, ClaimError):
            entry.error = str(answer) or "refused"
            continue
        for device in answer:
            made = entry.devices.add(
                request_names=device.requests,
                pool_name=device.pool,
                device_name=device.device,
                cdi_device_ids=device.cdi_ids,
            )
            if shares and device.share_id:
                made.share_id = device.share_id
    return response


def _unprepare_response(methods: DraMethods, answers: Mapping[str, str]) -> Any:
    response = methods.unprepare.response()
    for uid, error in answers.items():
        response.claims[uid].error = error
    return response
