"""Answers too much, or what no terminal should see: ``python -m tests.drivers.bad.answers WHAT``.

On GetInfo: info-long (a name of 1 MB, 20,000 versions), info-giant (longer than gRPC takes),
info-escapes (a name full of control characters). On Prepare of claims: devices (10,000 devices
for each claim), claims (10,000 claims that nobody asked for), giant (64 MB of error), escapes (an
error full of control characters), status (a gRPC status full of them).
"""

from __future__ import annotations

import sys
from typing import Any

import grpc

from pytest_dra.wire import GET_INFO
from pytest_dra.wire import Method
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.running import run

MANY = 10_000
LONG = 1 << 20
VERSIONS = 20_000
GIANT = 64 << 20

ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\n\x00\x9b31m\u202eevil</failure>]]>&#0;\ufffe"
"""Clears a screen, sets a title, ends a line, turns the direction, and ends an XML element."""

WHAT = sys.argv[1] if len(sys.argv) > 1 else ""


class Answers(Plugin):
    """One of its answers is such a one."""

    def get_info(self, request: Any, context: grpc.ServicerContext) -> Any:
        good = super().get_info(request, context)
        if not WHAT.startswith("info-"):
            return good
        names = {"info-long": "n" * LONG, "info-giant": "n" * GIANT, "info-escapes": ESCAPES}
        versions = list(good.supported_versions)
        if WHAT == "info-long":
            versions += [f"v{number}.DRAPlugin" for number in range(VERSIONS)]
        return GET_INFO.response(
            type=good.type, name=names[WHAT], endpoint=good.endpoint, supported_versions=versions
        )

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        response = super().prepare(method, request, context)
        if WHAT == "status" and request.claims:
            context.abort(grpc.StatusCode.INTERNAL, f"prepare: {ESCAPES}")
        for claim in request.claims:
            entry = response.claims[claim.uid]
            if WHAT == "devices":
                first = entry.devices[0]
                for number in range(MANY):
                    entry.devices.add(
                        request_names=first.request_names,
                        pool_name=first.pool_name,
                        device_name=f"none-{number}",
                        cdi_device_ids=[f"odd.example.com/none=none-{number}"],
                    )
            elif WHAT in ("giant", "escapes"):
                entry.error = "e" * GIANT if WHAT == "giant" else f"prepare: {ESCAPES}"
        for number in range(MANY if WHAT == "claims" and request.claims else 0):
            response.claims[f"uid-{number}"].error = "nobody asked"
        return response


if __name__ == "__main__":
    run(sys.argv[2:], plugin_class=Answers)
