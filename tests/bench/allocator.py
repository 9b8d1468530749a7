"""The figures of the allocator: ``python -m tests.bench.allocator [--oracle PROGRAM]``.

Nothing is asserted: a figure depends on the machine. Times are of one thread's processor, the
median of several runs; building the index over the slices is measured beside, and the ratio to
Kubernetes' allocator is given without it and with it. Go's figures are measured in the same run
with ``--oracle``, else they are the stored ones.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Final

from pytest_dra.allocator import Attempt
from pytest_dra.allocator import Index
from pytest_dra.allocator import State
from pytest_dra.allocator import rules
from tests.bench import allocatorfleets as fleets
from tests.bench.allocatorfleets import Case
from tests.bench.allocatorfleets import Json

RUNS: Final = 5
LETTERS: Final = "abcdefgh"
TIMEOUT_S: Final = 1200.0
RULES: Final = rules()

STORED_MS: Final = {
    "a1": 9.0, "a2": 37.0, "a3": 6.0, "b true": 2500.0, "b false": 2400.0,
    "c  16": 120.0, "c  20": 1900.0, "c  23": 13500.0, "c  32": 60000.0,
    "d  4 requests of 2, 2": 50.0, "d  4 requests of 3": 15000.0, "d  4 requests of 4": 60000.0,
    "e  7": 0.3, "e  8": 140.0, "e  10": 2400.0, "e  12": 40000.0, "e  9": 1900.0,
    "f": 0.9, "g  10112 devices on one node, the": 120.0, "g  10112 devices on one node, no": 20.0,
    "h  20x8, 1 device, 10": 0.8, "h  20x8, 1 device, 11": 92.0,
}  # fmt: skip
"""Milliseconds of the Go allocator by the beginnings of labels, from the oracle's README."""

_DURATION: Final = re.compile(r"([0-9.]+)(h|ms|m|s|µs|ns)")
_UNITS: Final = {"h": 3.6e6, "m": 6e4, "s": 1e3, "ms": 1.0, "µs": 1e-3, "ns": 1e-6}
_CASE: Final = re.compile(r"(.+?)\s+total\s+\S+\s+cpu\s+(\S+)")
_CLAIMS: Final = re.compile(r"b  .*selector=(true|false): wall \S+, cpu ([^;]+);")


def milliseconds(text: str) -> float:
    """A duration as Go writes it."""
    return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text))


def measured(call: Callable[[], object], runs: int = RUNS) -> float:
    """Median processor time of several calls, in ms."""
    found = []
    for _ in range(runs):
        began = time.process_time()
        call()
        found.append((time.process_time() - began) * 1000)
    return sorted(found)[runs // 2]


def least(call: Callable[[], object]) -> float:
    """Least processor time of several calls, in ms."""
    return min(measured(call, 1) for _ in range(RUNS))


def oracle_times(program: str, letters: str) -> dict[str, float]:
    """Go's times in ms by label, as its own measurements print them."""
    found: dict[str, float] = {}
    for letter in letters:
        done = subprocess.run(  # the oracle is named by the developer
            [program, "--perf", letter], capture_output=True, text=True,
            timeout=TIMEOUT_S, check=True,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            case, claims = _CASE.match(line), _CLAIMS.match(line)
            if claims:
                found[f"b {claims[1]}"] = milliseconds(claims[2])
            elif case:
                found[case[1].strip()] = milliseconds(case[2])
    return found


def peer(times: dict[str, float], label: str) -> float | None:
    """Go's time for a label."""
    if times:
        return times.get(label)
    for start, value in STORED_MS.items():
        if label.startswith(start):
            return value
    return None


def row(label: str, index_ms: float, ours_ms: float, go_ms: float | None, note: str) -> None:
    """Print one figure."""
    text = f"{label[:58]:58} index {index_ms:8.2f} ms, ours {ours_ms:9.3f} ms"
    if go_ms is not None:
        alone, whole = go_ms / ours_ms, go_ms / (ours_ms + index_ms)
        text += f", Go {go_ms:9.2f} ms: {alone:8.1f} times, with the index {whole:6.1f}"
    sys.stdout.write(f"{text}  {note}\n")


def on_all(index: Index, nodes: list[Json], wanted: Json) -> str:
    """Try a claim on all nodes; the last verdict."""
    attempt = Attempt(index, State(RULES), fleets.CLASSES, [wanted])
    verdict = ""
    for node in nodes:
        verdict = attempt.on(node).verdict
    return verdict


def case_row(label: str, case: Case, times: dict[str, float]) -> None:
    """Measure one case; the first run is with nothing remembered."""
    nodes, slices, wanted = case
    index_ms = measured(partial(Index, slices, RULES), 3)
    firsts = []
    for _ in range(3):
        index = Index(slices, RULES)
        firsts.append(measured(partial(on_all, index, nodes, wanted), 1))
    ours_ms = measured(partial(on_all, index, nodes, wanted))
    verdict = on_all(index, nodes, wanted)
    note = f"{verdict}, at first {sorted(firsts)[1]:.2f} ms"
    row(label, index_ms, ours_ms, peer(times, label), note)


def one_after_another(index: Index, nodes: list[Json], count: int, *expressions: str) -> int:
    """Place claims on the first node that fits, with the state carried on; the nodes asked."""
    state, calls = State(RULES), 0
    for number in range(count):
        wanted = fleets.claim(f"c{number}", fleets.request("r", 1, *expressions))
        attempt = Attempt(index, state, fleets.CLASSES, [wanted])
        for node in nodes:
            calls += 1
            answer = attempt.on(node)
            if answer.results:
                state.add(answer.results[0])
                break
    return calls


def claims_rows(times: dict[str, float]) -> None:
    """Many claims in a large cluster."""
    nodes, slices = fleets.fleet(5000, 8)
    index_ms = measured(partial(Index, slices, RULES), 3)
    index = Index(slices, RULES)
    either = f"{fleets.FIELD}.numa == 0 || true"
    for label, expressions in (("b true", [either]), ("b false", [])):
        ours_ms = measured(partial(one_after_another, index, nodes, 1000, *expressions), 3)
        calls = one_after_another(index, nodes, 1000, *expressions)
        note = f"1,000 claims, 5,000 nodes, {calls} calls, {1e6 / ours_ms:.0f} claims/s"
        row(label, index_ms, ours_ms, peer(times, label), note)


def memory() -> None:
    """Print what an index holds for each device."""
    for label, differ in (("like slices", False), ("no two devices alike", True)):
        nodes, slices = fleets.fleet(2000, 8, differ=differ)
        tracemalloc.start()
        index = Index(slices, RULES)
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        each = used / (len(nodes) * 8)
        sys.stdout.write(f"memory, {label}: {each:.0f} bytes per device beside the objects\n")
        del index


def fits(label: str, sizes: list[int], times_ms: list[float]) -> None:
    """Print a line through three figures, and how far they are from it."""
    count = len(sizes)
    mean_x, mean_y = sum(sizes) / count, sum(times_ms) / count
    spread = sum((x - mean_x) ** 2 for x in sizes)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(sizes, times_ms, strict=True)) / spread
    off = max(
        abs(y - (mean_y + slope * (x - mean_x))) / y for x, y in zip(sizes, times_ms, strict=True)
    )
    shown = ", ".join(f"{x}: {y:.1f} ms" for x, y in zip(sizes, times_ms, strict=True))
    sys.stdout.write(f"fit, {label}: {shown}; {slope * 1000:.2f} us each, off by {off:.0%}\n")


def fit_rows() -> None:
    """How the cost grows."""
    sizes = [1000, 2000, 4000]
    absent = fleets.claim("c", fleets.request("r", 1, f'{fleets.FIELD}.model == "absent"'))
    building, trying, differing = [], [], []
    for size in sizes:
        nodes, slices = fleets.fleet(size, 8)
        building.append(least(partial(Index, slices, RULES)))
        index = Index(slices, RULES)
        trying.append(measured(partial(on_all, index, nodes, absent)))
        _, slices = fleets.fleet(size, 8, differ=True)
        differing.append(least(partial(Index, slices, RULES)))
    fits("nodes in an index", sizes, building)
    fits("nodes in an index, no two devices alike", sizes, differing)
    fits("nodes that a claim is tried on", sizes, trying)
    nodes, slices = fleets.fleet(1, 1000)
    index = Index(slices, RULES)
    counts = [100, 200, 400]
    claims = [least(partial(one_after_another, index, nodes, count)) for count in counts]
    fits("claims one after another on one node", counts, claims)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oracle", help="program that measures Kubernetes' allocator")
    parser.add_argument("--letters", default=LETTERS, help="cases, such as abg")
    arguments = parser.parse_args()
    letters = arguments.letters
    times = oracle_times(arguments.oracle, letters) if arguments.oracle else {}
    for label, case in fleets.cases().items():
        if label[0] in letters:
            case_row(label, case, times)
    if "b" in letters:
        claims_rows(times)
    memory()
    fit_rows()
    return 0


if __name__ == "__main__":
    sys.exit(main())
