"""Legal variants of what claims are told, of attaching, and of configuration (V29, V30)."""

from __future__ import annotations

import logging
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.binder import Binder
from pytest_dra.fake_driver.binder import Result
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.opaque import PLAIN
from pytest_dra.fake_driver.opaque import Configs
from pytest_dra.fake_driver.opaque import DeviceConfig
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.statuses import READY
from pytest_dra.fake_driver.statuses import Entry
from pytest_dra.fake_driver.statuses import Statuses
from pytest_dra.fake_driver.statuses import condition

_log = logging.getLogger(__name__)


class WithinPrepare(Statuses):
    """Tells before Prepare is answered; what fails is only logged."""

    def prepared(self, record: Record) -> None:
        if not self.active:
            return
        try:
            self.write(record.ref, self.entries(record))
        except ApiError as error:
            _log.warning("status of claim %s: %s", record.ref, error)


class AtOnce(Binder):
    """Attaches in no time, and tells of it in one write."""

    def attach(self, claim: dict[str, Any], result: Result) -> None:
        if result["device"] in self.options.faulty():
            self.fail(claim, result)
            return
        kinds = dict.fromkeys(result["bindingConditions"], True)
        self.tell(claim, result, kinds, reason="Attached")


class NotReady(Statuses):
    """Says of the devices of a released claim that they are not ready."""

    def released(self, record: Record) -> None:
        if self.active:
            self.tell(record.ref, tuple(map(self._released, self.entries(record))))

    def _released(self, entry: Entry) -> Entry:
        return {**entry, "conditions": [condition(READY, value=False, reason="Released")]}


class NetworkOnly(Statuses):
    """Tells of network interfaces alone, and nothing of whether they are ready."""

    def entries(self, record: Record) -> tuple[Entry, ...]:
        found = super().entries(record)
        return tuple({**each, "conditions": []} for each in found if "networkData" in each)


class EmptyMeansDefaults(Configs):
    """Takes an empty configuration for none."""

    def decode(self, parameters: Any, path: str) -> DeviceConfig:
        return super().decode(parameters, path) if parameters else PLAIN


class TakesEmpty(Claims):
    configs = EmptyMeansDefaults


VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V29": {"statuses": WithinPrepare, "binder": AtOnce},
    "V29-FALSE": {"statuses": NotReady},
    "V29-NETWORK": {"statuses": NetworkOnly},
    "V30": {"claims": TakesEmpty},
}
