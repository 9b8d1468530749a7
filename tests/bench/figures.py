"""The figures of the project: ``python -m tests.bench.figures`` measures and prints them.

Nothing is asserted: a figure depends on the machine and on what else runs there. Each line has
minimum, median and maximum of several runs, the ratio to a named peer where there is one, and the
goal that was set for a machine of two cores. Byte code is cached, as it is after an installation:
each measurement is preceded by one that is thrown away.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.clusters.protocol import ClusterError
from tests.bench import apiserver
from tests.bench import report
from tests.bench.goal import Goal

STARTS: Final = 5
"""Cold starts of the fake driver."""

RUNS: Final = 3
"""Whole runs of the suite."""

SHARES: Final = (4, 2, 1)
"""Every so many cases: what a run takes grows with its cases, and no faster."""

IMPORTS: Final = 20
"""Imports of the plugin, each in a new process."""

LIMIT_S: Final = 300.0
"""Longest single measurement: far above every goal, so that it only ends what hangs."""

HEAVY: Final = ("kubernetes", "grpc", "aiohttp", "yaml", "jsonschema", "jinja2")
"""Packages that an unused plugin must not import."""

BYTECODE: Final = "PYTHONPYCACHEPREFIX"
NO_BYTECODE: Final = "PYTHONDONTWRITEBYTECODE"

_IMPORT: Final = """
import sys, time
began = time.perf_counter()
import pytest
middle = time.perf_counter()
import pytest_dra.plugin
ended = time.perf_counter()
heavy = sorted(set(sys.argv[1].split(",")) & set(sys.modules))
sys.stdout.write(f'["{",".join(heavy)}", {middle - began}, {ended - middle}]')
"""


REGISTERED: Final = Goal("driver start to registered", "s", 1.0)
PUBLISHED: Final = Goal("driver start to slices published", "s", 1.0)
WHOLE: Final = Goal("whole run on the fake driver", "s", 30.0, digits=1)
IMPORT: Final = Goal("import of pytest_dra.plugin", "ms", 5.0)


def _python(*arguments: str, cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd=cwd,
    )


def driver_starts() -> list[dict[str, float]]:
    """Times of :data:`STARTS` cold starts."""
    found: list[dict[str, float]] = []
    for _ in range(1 + STARTS):
        done = _python("-m", "tests.bench.driver_start")
        if done.returncode:
            raise RuntimeError(f"tests.bench.driver_start: {done.stderr[-2000:]}")
        found.append(json.loads(done.stdout))
    return found[1:]


def whole_runs() -> tuple[list[float], list[str]]:
    """Seconds of each whole run from an empty folder, and how it ended."""
    seconds: list[float] = []
    ends: list[str] = []
    _python("-m", "pytest", "-p", "no:cacheprovider", "--dra-driver=fake", "--collect-only")
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="dra-figures-") as empty:
            began = time.perf_counter()
            done = _python("-m", "pytest", "-p", "no:cacheprovider", "--dra-driver=fake", cwd=empty)
            seconds.append(time.perf_counter() - began)
        lines = done.stdout.strip().splitlines() or ["no output"]
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        ends.append("; ".join([f"exit {done.returncode}: {lines[-1].strip('= ')}", *failed]))
    return seconds, ends


def growing_runs() -> list[tuple[int, float]]:
    """Cases and seconds of runs on every fourth case, every second one, and all of them.

    What a case needs runs with it, and counts. One case at a time, so that they add up; the runs go
    on beside each other, since such a run uses a quarter of a processor.
    """
    with ThreadPoolExecutor(len(SHARES)) as pool:
        return list(pool.map(_growing_run, SHARES))


def _growing_run(step: int) -> tuple[int, float]:
    chosen = _with_needs(sorted(implemented())[::step])
    with tempfile.TemporaryDirectory(prefix="dra-figures-") as empty:
        began = time.perf_counter()
        _python(
            *("-m", "pytest", "-q", "-p", "no:cacheprovider", "--dra-driver=fake"),
            *("--dra-benches=1", f"--dra-case={','.join(sorted(chosen))}"),
            cwd=empty,
        )
        return len(chosen), time.perf_counter() - began


def _with_needs(ids: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(ids)
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += [each for each in declared(id).case.needs if each in implemented()]
    return found


def plugin_imports() -> tuple[list[float], list[float], str]:
    """Milliseconds of importing pytest and, on top, the plugin; heavy packages seen, if any."""
    bare: list[float] = []
    more: list[float] = []
    heavy = ""
    for _ in range(1 + IMPORTS):
        done = _python("-c", _IMPORT, ",".join(HEAVY))
        heavy, pytest_s, plugin_s = json.loads(done.stdout)
        bare.append(pytest_s * 1000)
        more.append(plugin_s * 1000)
    return bare[1:], more[1:], heavy


def _driver(write: Callable[[str], object]) -> None:
    starts = driver_starts()
    write(REGISTERED.line([each["registered"] for each in starts]))
    write(PUBLISHED.line([each["published"] for each in starts]))


def _whole(write: Callable[[str], object]) -> None:
    seconds, ends = whole_runs()
    write(WHOLE.line(seconds))
    for end in ends:
        write(f"{'':34} {end}\n")


def _growth(write: Callable[[str], object]) -> None:
    for cases, seconds in growing_runs():
        each = seconds / cases
        write(f"{f'{cases} cases, one at a time':34} {seconds:8.1f} s   {each:.2f} s a case\n")


def _import(write: Callable[[str], object]) -> None:
    bare, more, heavy = plugin_imports()
    write(IMPORT.line(more, peer=("import pytest", statistics.median(bare))))
    write(f"{'':34} of {', '.join(HEAVY)} it imports: {heavy or 'none'}\n")


def _api_server(write: Callable[[str], object]) -> None:
    write("\nthe embedded API server\n")
    apiserver.main()


def _report(write: Callable[[str], object]) -> None:
    write("\nthe report, processor time\n")
    report.figures(write)


_FAILURES: Final = (OSError, RuntimeError, ValueError, subprocess.SubprocessError, ClusterError)


@contextmanager
def cached_bytecode() -> Iterator[None]:
    """Let child processes write and read byte code, in a folder that goes away afterwards."""
    with tempfile.TemporaryDirectory(prefix="dra-bytecode-") as folder:
        before = os.environ.pop(NO_BYTECODE, None)
        os.environ[BYTECODE] = folder
        try:
            yield
        finally:
            del os.environ[BYTECODE]
            if before is not None:
                os.environ[NO_BYTECODE] = before


def main() -> int:
    """Measure and print; a measurement that fails is said and does not end the others."""
    write = sys.stdout.write
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    write(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load before: {load}\n")
    write(f"{'':34} {'min':>8} {'median':>8} {'max':>8}\n")
    with cached_bytecode():
        for measure in (_driver, _whole, _growth, _import, _report, _api_server):
            try:
                measure(write)
            except _FAILURES as error:
                write(f"{measure.__name__.strip('_')}: not measured: {error}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
