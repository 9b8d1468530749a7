"""Legal variants of how claims are served: V05, V13, V16, V18 and V23."""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
from typing import Any
from typing import Final

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.ledger import FILE_MODE
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService
from pytest_dra.fake_driver.variants_cdi import NoIds
from pytest_dra.fake_driver.variants_cdi import NoSpecs

TOMBSTONES: Final = "tombstones.json"
"""What has been released, below the driver's directory (V13)."""

TOMBSTONES_MAX: Final = 100
"""Released claims that are remembered: the file stays small, whatever the driver has served."""

SETTING_UP_S: Final = 0.5
"""How long a device is set up after Prepare was answered (V18)."""

_log = logging.getLogger(__name__)


class NoRequestNames(Claims):
    """V05: with a single request there is nothing that names could tell apart."""

    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        found = super().held(ref, claim)
        requests = ((claim.get("spec") or {}).get("devices") or {}).get("requests") or []
        if len(requests) > 1:
            return found
        held = tuple(dataclasses.replace(each, requests=()) for each in found.held)
        return dataclasses.replace(found, held=held)


class Tombstones(Ledger):
    """V13: released claims are remembered in one file, which also counts what has happened.

    Nothing depends on it, so that a damaged one is begun anew.
    """

    def put(self, record: Record) -> None:
        super().put(record)
        self._note(record.ref, dead=False)

    def forget(self, ref: ClaimRef) -> None:
        known = self.get(ref) is not None
        super().forget(ref)
        if known:
            self._note(ref, dead=True)

    def _note(self, ref: ClaimRef, *, dead: bool) -> None:
        path = self.data_dir / TOMBSTONES
        try:
            value = json.loads(files.read(path))
            changes, tombstones = int(value["changes"]), dict(value["tombstones"])
        except FileNotFoundError:
            changes, tombstones = 0, {}
        except (ValueError, KeyError, TypeError) as error:
            _log.warning("%s is damaged and begun anew: %r", path, error)
            changes, tombstones = 0, {}
        tombstones.pop(ref.uid, None)
        if dead:
            tombstones[ref.uid] = {"namespace": ref.namespace, "name": ref.name, "at": changes}
        kept = dict(list(tombstones.items())[-TOMBSTONES_MAX:])
        text = json.dumps({"changes": changes + 1, "tombstones": kept}, indent=1)
        files.write(path, text.encode(), mode=FILE_MODE)


class OkForEverything(Preparer):
    """V16: whatever is not prepared is released, also what no claim can be."""

    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        try:
            ref.check()
        except ClaimError as error:
            _log.info("nothing to release: %s", error)
            return
        super().unprepare(ref, call)


class SetUpLater(Preparer):
    """V18: Prepare keeps the devices for the claim, and they are set up once that is answered.

    Unprepare waits for it.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._set_up: dict[str, threading.Event] = {}

    def first(self, ref: ClaimRef, allocation: Allocation, call: Call) -> tuple[Prepared, ...]:
        answer = super().first(ref, allocation, call)
        done = self._set_up[ref.uid] = threading.Event()
        threading.Timer(SETTING_UP_S, done.set).start()
        return answer

    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        done = self._set_up.pop(ref.uid, None)
        if done is not None:
            done.wait()
        super().unprepare(ref, call)


class AllOrNone(Preparer):
    """V23: a claim holds every device of the node."""

    def check(self, ref: ClaimRef, allocation: Allocation, call: Call) -> None:
        super().check(ref, allocation, call)
        missing = set(self.inventory.devices())
        missing -= {(held.pool, held.device) for held in allocation.held}
        if missing:
            raise ClaimError(f"claim {ref}: it must hold all devices, {len(missing)} are missing")


class OneClaim(DraService):
    """V23: serves one claim of a pod, so that a call with several ones is refused."""

    def prepare_one(self, ref: ClaimRef, call: Call) -> Answer:
        if not call.alone:
            return ClaimError(f"claim {ref}: its pod has {call.size} claims of this driver, want 1")
        return super().prepare_one(ref, call)


VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V05": {"claims": NoRequestNames},
    "V13": {"ledger": Tombstones},
    "V16": {"preparer": OkForEverything},
    "V18": {"cdi": NoSpecs, "service": NoIds, "preparer": SetUpLater},
    "V23-ALL": {"preparer": AllOrNone},
    "V23-ONE": {"service": OneClaim},
}
