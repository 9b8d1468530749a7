"""Faults that only pods on a real node meet (LIFE-001 and what needs it)."""

from __future__ import annotations

import threading

from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService


@fault("LIFE-001", "never answer Prepare")
class NeverAnswering(DraService):
    def prepare_one(self, ref: ClaimRef, call: Call) -> Answer:
        threading.Event().wait(call.left_s())
        return super().prepare_one(ref, call)
