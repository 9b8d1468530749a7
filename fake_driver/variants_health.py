"""Legal variants of the health streams: V02, V03, V08 and V32."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import ClassVar
from typing import Final

import grpc

from pytest_dra.fake_driver.features import HEALTH
from pytest_dra.fake_driver.health import Health
from pytest_dra.fake_driver.health import Told
from pytest_dra.wire import HEALTH_METHODS
from pytest_dra.wire import Method

UNKNOWN_HEALTH: Final = 99
"""A health status that no release has (V08)."""

PARTS: Final = 3
"""Reports that cover all devices together (V03)."""

LATE_S: Final = 3.0
"""Pause before the first message (V32)."""

LAST: Final = 4
"""Messages of a stream that ends (V32)."""

RARELY_S: Final = 12.0
"""Pause between reports that are believed for the kubelet's 30 s (V32)."""


class HealthServed(Health):
    """The health is served, whatever the features are."""

    def served(self) -> Sequence[str]:
        return tuple(HEALTH_METHODS)


class HealthDeclined(HealthServed):
    """V02: whoever asks for health is told that there is none."""

    def watch(self, method: Method, context: grpc.ServicerContext) -> Iterator[Any]:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "this driver does not know the health")


class UnknownHealth(HealthServed):
    """V08: each device has a health status that the kubelet does not know."""

    def report(self) -> list[Told]:
        return [dataclasses.replace(each, health=UNKNOWN_HEALTH) for each in super().report()]


class InParts(Health):
    """V03: each message has a part of the devices; the next one goes on."""

    every_s = 0.5

    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        part = 0
        while not over.is_set():
            yield self.message(method, self.report()[part::PARTS])
            part = (part + 1) % PARTS
            over.wait(self.every_s)


class OnlyAlpha(Health):
    """V32: v1alpha1 alone."""

    def served(self) -> Sequence[str]:
        names = tuple(HEALTH_METHODS)
        return names[1:] if HEALTH in self.options.features else ()


class LateFirst(Health):
    """V32: the devices are looked at before anything is said."""

    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        over.wait(LATE_S)
        yield from super().messages(method, context, over)


class Ends(Health):
    """V32: a stream ends after some messages, for the kubelet to open it again."""

    last: ClassVar[int] = LAST
    code: ClassVar[grpc.StatusCode] = grpc.StatusCode.ABORTED
    text: ClassVar[str] = "the monitor begins anew"

    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        for number, message in enumerate(super().messages(method, context, over), start=1):
            yield message
            if number == self.last:
                context.abort(self.code, self.text)


class AnyOrder(Health):
    """V32: another order each time, a device twice, and a report without devices in between."""

    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        turn = 0
        while not over.is_set():
            told = self.report()
            turn = (turn + 1) % len(told) if told else 0
            yield self.message(method, [*told[turn:], *told[: turn + 1]])
            yield self.message(method, [])
            over.wait(self.every_s)


class UsualLease(Health):
    """V32: no timeout of the driver's own, no time and no words."""

    every_s = RARELY_S

    def report(self) -> list[Told]:
        return [
            dataclasses.replace(each, lease_s=0, updated=0, message="") for each in super().report()
        ]


VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V02": {"health": HealthDeclined},
    "V03": {"health": InParts},
    "V08-HEALTH": {"health": UnknownHealth},
    "V32-ALPHA": {"health": OnlyAlpha},
    "V32-ENDS": {"health": Ends},
    "V32-LATE": {"health": LateFirst},
    "V32-LEASE": {"health": UsualLease},
    "V32-ORDER": {"health": AnyOrder},
}
