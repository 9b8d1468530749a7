"""Faults of much at a time, of the unexpected, and of what lasts long (ROB)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

BATCH_MAX: Final = 8
CLAIM_MAX: Final = 64 * 1024
"""As the texts of ROB-001 and ROB-005 have it."""


@fault("ROB-001", "refuse calls with more than 8 claims")
class SmallBatches(DraService):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        if len(refs) > BATCH_MAX:
            text = f"{len(refs)} claims in one call, want at most {BATCH_MAX}"
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, text)
        return super().prepare(refs, call, context)


@fault("ROB-004", "refuse messages with unknown fields")
class KnownFieldsOnly(DraService):
    def refs(self, request: Any, context: grpc.ServicerContext) -> list[ClaimRef]:
        known = type(request)()
        known.CopyFrom(request)
        known.DiscardUnknownFields()
        if known.ByteSize() != request.ByteSize():
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request has unknown fields")
        return super().refs(request, context)


@fault("ROB-005", "refuse claims larger than 64 KiB")
class SmallClaims(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        size = len(json.dumps(claim))
        if size > CLAIM_MAX:
            raise ClaimError(f"claim {ref} has {size} bytes, want at most {CLAIM_MAX}")
        return super().held(ref, claim)


def leave() -> None:
    """End the process at once."""
    os.abort()


@fault("ROB-007", "abort the process on an empty UID")
class AbortsOnNothing(Preparer):
    def prepare(self, ref: ClaimRef, call: Call) -> tuple[Prepared, ...]:
        if not ref.uid:
            leave()
        return super().prepare(ref, call)
