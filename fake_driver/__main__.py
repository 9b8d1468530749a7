"""Runs the fake driver: ``python -m pytest_dra.fake_driver --help``."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from pytest_dra.fake_driver.driver import Driver
from pytest_dra.fake_driver.driver import Parts
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.options import parse
from pytest_dra.fake_driver.options import shown
from pytest_dra.fake_driver.options import wants_list


def _parts(fault: str, variant: str = "") -> Parts:
    parts = Parts()
    if variant:
        from pytest_dra.fake_driver import variants

        parts = variants.parts_of(variant, parts)
    if fault:
        from pytest_dra.fake_driver import faults

        parts = faults.parts_with(fault, parts)
    return parts


def _serve(options: Options) -> None:
    driver = Driver(options, _parts(options.fault, options.variant))

    def stop(number: int, frame: FrameType | None) -> None:
        driver.stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        driver.start()
        driver.serve()
    finally:
        driver.stop()


def _list_faults() -> None:
    from pytest_dra.fake_driver import faults

    for fault in faults.all_faults():
        sys.stdout.write(f"{fault.case:10} {fault.text}\n")


def run(arguments: Sequence[str]) -> int:
    """Run the driver until SIGTERM; the exit code."""
    try:
        if wants_list(arguments):
            _list_faults()
            return os.EX_OK
        asked = shown(arguments)
        if asked is not None:
            fault, features = asked
            sys.stdout.write(_parts(fault).manifests(features).text())
            return os.EX_OK
        options = parse(arguments)
        logging.basicConfig(
            level=options.log_level.upper(),
            stream=sys.stderr,
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        )
        _serve(options)
    except StartError as error:
        sys.stderr.write(f"dra-fake-driver: {error}\n")
        return error.exit_code
    return os.EX_OK


def main() -> NoReturn:
    """Run the driver and end the process at once: a call that still waits for a slow API server
    must not hold it up.

    Nothing is lost by that: every file is written completely or not at all.
    """
    code = run(sys.argv[1:])
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
