"""The life of a driver process; bad drivers bring a plugin or a publisher of their own."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence

from tests.drivers.good.api import Api
from tests.drivers.good.claims import Claims
from tests.drivers.good.options import read
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.publisher import Publisher

FOREVER_S = 600.0
"""Longest life: a driver that escapes a test ends by itself."""


def run(
    arguments: Sequence[str] | None = None,
    *,
    plugin_class: type[Plugin] = Plugin,
    publisher_class: type[Publisher] = Publisher,
    heeds_sigterm: bool = True,
) -> None:
    """Be a driver until SIGTERM, or until it is killed."""
    stopping = threading.Event()
    heed = signal.SIG_IGN if not heeds_sigterm else lambda number, frame: stopping.set()
    signal.signal(signal.SIGTERM, heed)
    options = read(sys.argv[1:] if arguments is None else arguments)
    if stopping.wait(options.delay):
        return
    api = Api(options.kubeconfig)
    plugin = plugin_class(options, Claims(options, api))
    if "plugin" in options.parts:
        plugin.start()
    if "controller" in options.parts:
        publisher = publisher_class(options, api)
        threading.Thread(target=publisher.run, args=(stopping,), daemon=True).start()
    stopping.wait(FOREVER_S)
    if "plugin" in options.parts:
        plugin.stop()
