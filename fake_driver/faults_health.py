"""Faults of the health service (HLTH)."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.health import Health
from pytest_dra.fake_driver.health import Told
from pytest_dra.fake_driver.hotplug import Hotplug
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService
from pytest_dra.fake_driver.variants_health import Ends
from pytest_dra.fake_driver.variants_health import HealthServed
from pytest_dra.wire import HEALTH_METHODS
from pytest_dra.wire import Method

FIRST_S: Final = 15.0
"""Pause before the first message of HLTH-001."""

LONG: Final = 3000
"""Bytes of the message of HLTH-006."""

UMLAUTS: Final = 600
"""Letters of two bytes in the message of HLTH-014."""

LAST: Final = 3
"""Messages of a stream of HLTH-015."""

HOUR_S: Final = 3600

ALPHA: Final = HEALTH_METHODS["v1alpha1.DRAResourceHealth"].service


@fault("HLTH-001", "wait 15 s before the first message of a stream")
class Hesitates(Health):
    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        over.wait(FIRST_S)
        yield from super().messages(method, context, over)


@fault("HLTH-002", "accept the stream and block without sending")
class Silent(HealthServed):
    """Of a driver that does not know the health."""

    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        over.wait()
        yield from ()


@fault("HLTH-003", "report the device's UUID instead of its name")
class ByUuid(Health):
    def report(self) -> list[Told]:
        uuids = {
            (pool.name, device["name"]): device["attributes"]["uuid"]["string"]
            for pool in self.preparer.inventory.pools
            for device in pool.devices
            if "uuid" in device["attributes"]
        }
        return [
            dataclasses.replace(each, device=uuids.get((each.pool, each.device), each.device))
            for each in super().report()
        ]


@fault("HLTH-004", "omit the last device")
class OmitsLast(Health):
    def report(self) -> list[Told]:
        return super().report()[:-1]


@fault("HLTH-005", "send one complete report and then nothing")
class Once(Health):
    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        yield self.message(method, self.report())
        over.wait()


class Says(Health):
    """Each report of a device has the same text."""

    text = ""

    def report(self) -> list[Told]:
        return [dataclasses.replace(each, message=self.text) for each in super().report()]


@fault("HLTH-006", "send a message of 3000 bytes with each unhealthy or healthy report")
class SaysMuch(Says):
    text = "m" * LONG


@fault("HLTH-007", "after the first stream send changes only")
class ChangesOnly(Health):
    """What has not changed is a report without devices."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.opened = 0

    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        self.opened += 1
        if self.opened == 1:
            yield from super().messages(method, context, over)
            return
        known = self._states()
        while not over.is_set():
            now = self._states()
            yield self.message(method, [now[name] for name in now if now[name] != known.get(name)])
            known = now
            over.wait(self.every_s)

    def _states(self) -> dict[tuple[str, str], Told]:
        return {
            (each.pool, each.device): dataclasses.replace(each, updated=0) for each in self.report()
        }


@fault("HLTH-008", "send now + 1 h")
class Ahead(Health):
    def report(self) -> list[Told]:
        return [
            dataclasses.replace(each, updated=each.updated + HOUR_S) for each in super().report()
        ]


@fault("HLTH-010", "go on offering the device unchanged")
class GoesOnOffering(Hotplug):
    """As long as a claim holds it: what is faulty otherwise is the taints' matter."""

    def marked(self, inventory: Inventory, names: frozenset[str]) -> Inventory:
        free = (name for name in names if not is_held(self.options, name))
        return super().marked(inventory, frozenset(free))


def is_held(options: Options, device: str) -> bool:
    """True if a claim is prepared that has the device, as the checkpoints say."""
    for path in (options.data_dir / "claims").glob("*.json"):
        with contextlib.suppress(OSError):
            if f'"device": "{device}"' in path.read_text("utf-8"):
                return True
    return False


@fault("HLTH-012", "serve the health service without advertising it")
class Unadvertised(Health):
    def advertised(self) -> Sequence[str]:
        return ()


_ONE_WORKER: Final = (
    "serve all calls of the socket by a single worker, which a v1alpha1 stream occupies"
)

_WORKER: Final = threading.Lock()


@fault("HLTH-013", _ONE_WORKER)
class OccupiesWorker(Health):
    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        with _WORKER if method.service == ALPHA else contextlib.nullcontext():
            yield from super().messages(method, context, over)


@fault("HLTH-013", _ONE_WORKER)
class WaitsForWorker(DraService):
    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        with _WORKER:
            return super().prepare(refs, call, context)

    def unprepare(self, refs: Sequence[ClaimRef], call: Call) -> Mapping[str, str]:
        with _WORKER:
            return super().unprepare(refs, call)


@fault("HLTH-014", "send a message of 600 times the two-byte letter U+00E4")
class SaysUmlauts(Says):
    text = "\u00e4" * UMLAUTS


@fault("HLTH-015", "end the stream with UNIMPLEMENTED after three messages")
class GivesUp(Ends):
    last = LAST
    code = grpc.StatusCode.UNIMPLEMENTED
    text = "no more of it"
