"""Drivers that never answer, or not for long, at the default budgets: judged in bounded time.

``python -m tests.drivers.patience``; two at a time, mostly waiting. Prints how long each took, what
failed, and what was left; exits 1 if one took longer or was not found out.
"""

from __future__ import annotations

import concurrent.futures
import sys

from tests.drivers.judging import Judged
from tests.drivers.judging import judge
from tests.drivers.judging import module
from tests.drivers.test_oddities import MAY

HANGING = "tests.drivers.bad.hanging"
ENDING = "tests.drivers.bad.ending"
SOCKETS = "tests.drivers.bad.sockets"

DRIVERS = {
    module(ENDING, "never"): {"REG-001", "SLICE-001"},
    module(HANGING, "get-info,notify,prepare,unprepare"): {"REG-002", "REG-014"},
    module(HANGING, "notify"): {"REG-008", "REG-015"},
    module(SOCKETS, "silence"): {"REG-002", "REG-014"},
    module(SOCKETS, "dra-silence"): {"REG-005", "REG-006", "REG-012", "RST-008"},
    module(HANGING, "prepare,unprepare"): {"REG-005", "REG-006"},
    module(HANGING, "prepare-of-claims"): {"PREP-023"},
    module(HANGING, "unprepare-of-claims"): {"UNP-001"},
}
"""By driver: what fails; no other MUST or SHOULD does. What is no gRPC leaves its socket behind,
and is never connected, so that the kubelet wipes its slices."""

FADING = "tests.drivers.bad.fading"
GOOD_S = "8"
"""Seconds for which a process is good: enough for the first cases, and not for the last ones."""

FADING_DRIVERS = tuple(
    module(FADING, how, GOOD_S) for how in ("stops", "exits", "hangs", "refuses")
)
"""Drivers whose processes are good for a while only: none of them is conformant."""

LIMIT_S = 180.0
LONG_LIMIT_S = 360.0
"""The second for drivers that are asked again and again: those that fade, and a DRA socket that
accepts and says nothing (438 s were seen beside 20 other processes on two cores)."""

LONG = frozenset({*FADING_DRIVERS, module(SOCKETS, "dra-silence")})
PARALLEL = 2


def _judge(driver: str) -> Judged:
    return judge(driver, limit_s=2 * LONG_LIMIT_S)


def _is_found_out(driver: str, judged: Judged) -> bool:
    if driver in DRIVERS:
        return judged.ids("failed") - MAY == DRIVERS[driver]
    return bool(judged.report["verdict"] == "non-conformant")


def main() -> int:
    """Judge them all; prints a line each and a closing line."""
    wrong, drivers = 0, (*DRIVERS, *FADING_DRIVERS)
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        for driver, judged in zip(drivers, pool.map(_judge, drivers), strict=True):
            failed, errored = judged.ids("failed"), judged.ids("errored")
            right = _is_found_out(driver, judged) and not errored and not judged.left
            right = right and judged.seconds < (LONG_LIMIT_S if driver in LONG else LIMIT_S)
            wrong += not right
            name = driver.partition("tests.drivers.bad.")[2]
            sys.stdout.write(
                f"{'ok   ' if right else 'WRONG'} {judged.seconds:5.1f} s  {name}: failed"
                f" {sorted(failed)}, errored {sorted(errored)}, left {list(judged.left)}\n"
            )
            sys.stdout.flush()
    sys.stdout.write(f"{len(drivers) - wrong} passed, {wrong} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
