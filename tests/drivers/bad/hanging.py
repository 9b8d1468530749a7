"""Answers no call of some methods: ``python -m tests.drivers.bad.hanging METHODS [SWITCHES]``.

METHODS, with commas, are get-info, notify, prepare, unprepare, where an empty batch hangs as well,
prepare-of-claims and unprepare-of-claims.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import grpc

from pytest_dra.wire import Method
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.running import FOREVER_S
from tests.drivers.good.running import run

METHODS = frozenset(sys.argv[1].split(",")) if len(sys.argv) > 1 else frozenset()


def hang(method: str) -> None:
    """Wait for ever, if this is one of the methods."""
    if method in METHODS:
        threading.Event().wait(FOREVER_S)


class Hangs(Plugin):
    """Some of its methods do not answer; its other threads work on."""

    def get_info(self, request: Any, context: grpc.ServicerContext) -> Any:
        hang("get-info")
        return super().get_info(request, context)

    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        hang("notify")
        return super().notify(request, context)

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        hang("prepare")
        if request.claims:
            hang("prepare-of-claims")
        return super().prepare(method, request, context)

    def unprepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        hang("unprepare")
        if request.claims:
            hang("unprepare-of-claims")
        return super().unprepare(method, request, context)


if __name__ == "__main__":
    run(sys.argv[2:], plugin_class=Hangs)
    # Otherwise the hanging threads of the server would be waited for.
    os._exit(0)
