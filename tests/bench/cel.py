"""The figures of the CEL engine: ``python -m tests.bench.cel [--oracle PROGRAM]``.

Nothing is asserted: a figure depends on the machine. Times are of one thread's processor, the best
of several runs; the peer is the Go package, by its published figures or, with ``--oracle``, as
measured here. Go's figures include what preparing the devices is here, so that is measured beside.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.cel.engines import CEL_PYTHON
from pytest_dra.cel.engines import EngineMissing
from pytest_dra.cel.engines import engine
from pytest_dra.cel.environments import environment
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.prepared import prepare
from pytest_dra.cel.selector import Selector

GPU: Final = 'device.attributes["gpu.example.com"]'
SELECTOR: Final = (
    f'device.driver == "gpu.example.com" && {GPU}.model == "A100" && '
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0 && '
    f'{GPU}.driverVersion.isGreaterThan(semver("1.2.3"))'
)
COUNT: Final = 10_000
GO_MS: Final = 102.0
"""Published figure of the Go package for :data:`COUNT` devices."""

RUNS: Final = 7
SLOW_COUNT: Final = 300
"""Devices for the slow engine."""

IMPORTS: Final = 10
TIMEOUT_S: Final = 300.0

Raw = tuple[str, dict[str, Any]]


def device(number: int, *, differ: bool = False, shape: bool = False) -> Raw:
    """A device like others, with other values, or with attributes of another set of names."""
    attributes: dict[str, Any] = {
        "model": {"string": "A100"},
        "driverVersion": {"version": f"1.3.{number}" if differ else "1.3.0"},
        "uuid": {"string": f"gpu-{number}" if differ else "gpu"},
        "numa": {"int": number if differ else 0},
    }
    if shape:
        attributes[f"extra{number}"] = {"bool": True}
        attributes[f"other.example.org/extra{number}"] = {"int": number}
    memory = str(80 * 2**30 + number) if differ else "80Gi"
    capacity = {"memory": {"value": memory}, "cores": {"value": "108"}}
    return "gpu.example.com", {"attributes": attributes, "capacity": capacity}


SETS: Final[dict[str, dict[str, bool]]] = {
    "one shape": {},
    "all values differ": {"differ": True},
    "no two share a shape": {"differ": True, "shape": True},
}
GOALS: Final = {"one shape": 20.0, "all values differ": 5.0, "no two share a shape": 1.0}


def best(call: Callable[[], object], runs: int = RUNS) -> float:
    """Least processor time of several calls, in ms."""
    found = []
    for _ in range(runs):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found) * 1000


def line(name: str, value: float, ratio: float | None = None, goal: float | None = None) -> None:
    """One figure in ms; a ratio says how many times the peer is slower."""
    text = f"{name:44} {value:10.3f} ms"
    if ratio is not None:
        text += f"  {ratio:9.1f}x"
    if goal is not None and ratio is not None:
        text += f"  goal {goal:g}x: {'met' if ratio >= goal else 'MISSED'}"
    elif goal is not None:
        text += f"  goal < {goal:g} ms: {'met' if value < goal else 'MISSED'}"
    sys.stdout.write(text + "\n")


def go_figure(oracle: str | None) -> float:
    """Milliseconds of the Go package for all devices."""
    if oracle is None:
        return GO_MS
    done = subprocess.run(
        [oracle, "-bench"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
        env={"GOMAXPROCS": "1"},
    )
    sys.stdout.write(done.stdout)
    found = re.search(
        rf"four-part {COUNT} devices \({COUNT} match\).*?cpu ([0-9.]+)µs", done.stdout
    )
    if found is None:
        raise RuntimeError("the oracle does not print the processor time of a device")
    return float(found[1]) * COUNT / 1000


def evaluation(go_ms: float) -> None:
    """Ratios to the Go package, for each set of devices."""
    for name, options in SETS.items():
        raw = [device(number, **options) for number in range(COUNT)]
        made: list[list[Prepared]] = []

        def fill(raw: list[Raw] = raw, made: list[list[Prepared]] = made) -> None:
            made[:] = [prepare(raw)]

        preparing = best(fill)
        selector = Selector(SELECTOR)
        found = selector.matches(made[0])
        if found != [True] * COUNT:
            raise RuntimeError(f"{name}: the selector does not match")

        def run(selector: Selector = selector, devices: list[Prepared] = made[0]) -> None:
            selector.matches(devices)

        evaluating = best(run)

        def all_at_once(selector: Selector = selector, raw: list[Raw] = raw) -> None:
            selector.matches(prepare(raw))

        total = best(all_at_once)
        line(f"{COUNT} devices, {name}: evaluate", evaluating, go_ms / evaluating, GOALS[name])
        line("  prepare", preparing)
        line("  both, devices new to the selector", total, go_ms / total)


def second_engine() -> None:
    """Ratio to cel-python, on fewer devices."""
    devices = prepare(device(number) for number in range(SLOW_COUNT))
    try:
        theirs = engine(CEL_PYTHON).compile(SELECTOR, environment())
    except EngineMissing as error:
        sys.stdout.write(f"{error}\n")
        return
    ours = Selector(SELECTOR)
    many = prepare(device(number) for number in range(COUNT))
    slow = best(lambda: theirs.matches(devices), 2) / SLOW_COUNT * COUNT
    fast = best(lambda: ours.matches(many))
    line(f"{COUNT} devices, cel-python (by {SLOW_COUNT})", slow, slow / fast, 1000.0)


def compiling() -> None:
    """Compile with type check, and cost."""

    def compile_one() -> None:
        Selector(SELECTOR).program.estimate()

    compile_one()
    line("compile, type check, cost", best(compile_one, 50), goal=3.0)


def importing() -> None:
    """Import of the package and of the whole engine, each in new processes, compiled before."""
    with tempfile.TemporaryDirectory(prefix="dra-") as cache:
        environ = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for name, goal in (("pytest_dra.cel", 30.0), ("pytest_dra.cel.selector", None)):
            code = (
                "import time, typing, pytest_dra; b = time.process_time(); "
                f"import {name}; print(time.process_time() - b)"
            )
            times = [
                float(subprocess.run(
                    [sys.executable, "-c", code], env=environ,
                    capture_output=True, text=True, check=True, timeout=TIMEOUT_S,
                ).stdout)
                for _ in range(IMPORTS)
            ]  # fmt: skip
            line(f"import {name}", min(times) * 1000, goal=goal)


def main() -> int:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oracle", help="the Go program, measured beside")
    go_ms = go_figure(parser.parse_args().oracle)
    sys.stdout.write(f"Go: {go_ms:.1f} ms for {COUNT} devices\n")
    evaluation(go_ms)
    second_engine()
    compiling()
    importing()
    return 0


if __name__ == "__main__":
    sys.exit(main())
