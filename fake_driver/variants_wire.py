"""Legal variants of what is said on the sockets: V06, V07, V08, V15 and V19."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.endpoint import Endpoint
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.registration import Registration
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService
from pytest_dra.wire import DRA_METHODS

NEWER: Final = ("v2.DRAPlugin", "v1.DRAPluginNextDoor")
"""Services that no kubelet of 1.34 to 1.37 knows (V08)."""

CONFIRMATION_S: Final = 30.0
"""Longest wait for the kubelet's confirmation, as several drivers have it (V19)."""

EXIT_UNCONFIRMED: Final = 1

_log = logging.getLogger(__name__)


class CallRefused(DraService):
    """V06: a bad claim that is alone in its call is refused with the call."""

    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        answers = super().prepare(refs, call, context)
        for answer in answers.values() if call.alone else ():
            if isinstance(answer, ClaimError):
                refuse(context, answer)
        return answers


class BatchRefused(DraService):
    """V06: all claims of a call are read first; one that is missing, unallocated or replaced, or
    cannot be read, is refused with the call. What else is wrong with a claim is its own matter."""

    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        for ref in refs:
            try:
                self._read(ref, call)
            except ClaimError as error:
                refuse(context, error)
        return super().prepare(refs, call, context)

    def _read(self, ref: ClaimRef, call: Call) -> None:
        ref.check()
        claims = self.preparer.claims
        claim = claims.get(ref, left_s=call.left_s())
        claims.check_uid(ref, claim)
        if not (claim.get("status") or {}).get("allocation"):
            claims.unallocated(ref, claim)


def refuse(context: grpc.ServicerContext, error: ClaimError) -> None:
    """End a call with the status that a plain Go error has."""
    _log.warning("Prepare is refused: %s", error)
    context.abort(grpc.StatusCode.UNKNOWN, str(error) or "refused")


class OnlyV1(DraService):
    """V07: v1 alone is served."""

    def versions(self) -> Sequence[str]:
        return [name for name in DRA_METHODS if name.startswith("v1.")]


class OnlyV1beta1(DraService):
    """V07: v1beta1 alone is served."""

    def versions(self) -> Sequence[str]:
        return [name for name in DRA_METHODS if name.startswith("v1beta1.")]


class FurtherServices(Registration):
    """V08: services are advertised that the kubelet does not know, before and behind the others."""

    def versions(self) -> Sequence[str]:
        return (NEWER[0], *super().versions(), *NEWER[1:])


class OneCallAtATime(DraService):
    """V15: a call waits until those before it are answered."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._serial = threading.Lock()

    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        with self._serial:
            return super().prepare(refs, call, context)

    def unprepare(self, refs: Sequence[ClaimRef], call: Call) -> Mapping[str, str]:
        with self._serial:
            return super().unprepare(refs, call)


class RefusalRefused(Registration):
    """V19: the news of a failed registration is answered with an error."""

    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        response = super().notify(request, context)
        if not request.plugin_registered:
            context.abort(grpc.StatusCode.UNKNOWN, f"registration has failed: {request.error}")
        return response


class Confirmed(Registration):
    """V19: remembers whether the kubelet has confirmed a registration."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.confirmed = threading.Event()

    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        if request.plugin_registered:
            self.confirmed.set()
        return super().notify(request, context)


class ExitUnconfirmed(Endpoint):
    """V19: the process ends where no confirmation comes in time after its start."""

    def open(self) -> None:
        super().open()
        threading.Thread(target=self._expect, name="confirmation", daemon=True).start()

    def _expect(self) -> None:
        registration = self.registration
        if not isinstance(registration, Confirmed):
            raise TypeError(f"{type(registration).__name__} does not know of confirmations")
        if registration.confirmed.wait(CONFIRMATION_S) or self.closed.is_set():
            return
        _log.error("no confirmation of the registration in %g s: giving up", CONFIRMATION_S)
        logging.shutdown()
        os._exit(EXIT_UNCONFIRMED)


VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V06": {"service": CallRefused},
    "V06-BATCH": {"service": BatchRefused},
    "V07-V1": {"service": OnlyV1},
    "V07-V1BETA1": {"service": OnlyV1beta1},
    "V08": {"registration": FurtherServices},
    "V15": {"service": OneCallAtATime},
    "V19": {"registration": RefusalRefused},
    "V19-EXIT": {"registration": Confirmed, "endpoint": ExitUnconfirmed},
}
