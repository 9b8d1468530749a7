"""Play the recorded scenarios of the real kubelet against the kubelet stand-in.

    python -m tests.upstream.kubelet [--recordings DIR] [--kubernetes VERSION] [SCENARIO...]

Prints what differs, or the stored reason why it does, and ends with ``N agree, M differ``.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import multiprocessing
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_dra.spec import Json
from tests.upstream import kubelet_recordings as recordings
from tests.upstream.kubelet_compare import CHANCES
from tests.upstream.kubelet_compare import TOLERANCE_S
from tests.upstream.kubelet_compare import differences
from tests.upstream.kubelet_play import play
from tests.upstream.kubelet_record import recording
from tests.upstream.kubelet_record import write
from tests.upstream.kubelet_scope import reason


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if something differs without a stored reason, or nothing agrees."""
    asked = _arguments(arguments)
    say = sys.stdout.write
    agree = differ = unexplained = 0
    for version, name, found, told in _all_held(asked):
        why = reason(name, version)
        agree, differ = agree + (not found), differ + bool(found)
        unexplained += bool(found) and not why
        for line in [why] if found and why else found:
            say(f"{version} {name}: {line}\n")
        say(told)
        sys.stdout.flush()
    say(f"{agree} agree, {differ} differ\n")
    return 1 if unexplained or not agree else 0


def _all_held(asked: argparse.Namespace) -> Iterator[tuple[str, str, list[str], str]]:
    """Version, name, differences and further lines of each scenario, in their order."""
    work = [
        (version, name, scenario)
        for version in ([asked.kubernetes] if asked.kubernetes else recordings.VERSIONS)
        for name, scenario in _scenarios(asked, version).items()
    ]
    hold = functools.partial(
        _held, tolerance_s=asked.tolerance, show=asked.show, written=asked.write
    )
    if asked.jobs == 1 or len(work) == 1:
        yield from map(hold, work)
        return
    spawned = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(asked.jobs, mp_context=spawned) as pool:
        yield from pool.map(hold, work)


def _held(
    work: tuple[str, str, Json], *, tolerance_s: float, show: bool, written: Path | None
) -> tuple[str, str, list[str], str]:
    version, name, scenario = work
    if not scenario:
        return version, name, ["not played"], ""
    everything: list[list[Any]] = []
    found, ours, remark = held(
        name, scenario, version, tolerance_s=tolerance_s, everything=everything
    )
    if written is not None:
        write(written / version, recording(name, scenario, everything))
    told = f"{version} {name}: {remark}\n" if remark else ""
    return version, name, found, told + (_shown(scenario, ours) if show else "")


def held(
    name: str,
    scenario: Json,
    version: str,
    *,
    tolerance_s: float = TOLERANCE_S,
    everything: list[list[Any]] | None = None,
) -> tuple[list[str], list[list[Any]], str]:
    """The differences of one scenario, what was seen of ours, and a remark if chance played in.

    ``everything`` takes what was seen in the last play with the answers that were no errors.
    """
    first: list[str] = []
    seen: list[list[Any]] = []
    everything = [] if everything is None else everything
    for chance in CHANCES:
        everything.clear()
        ours = play(name, scenario, version, chance=chance, everything=everything)
        found = differences(name, scenario, ours, tolerance_s=tolerance_s)
        if not found and not first:
            return [], ours, ""
        if not found:
            return [], ours, f"agrees with {chance:.0%} of gRPC's pauses, else {first[0]}"
        first, seen = first or found, seen or ours
    return first, seen, ""


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.kubelet")
    parser.add_argument("scenario", nargs="*", help="name or beginning of names; all by default")
    parser.add_argument("--recordings", type=Path, help="full recordings instead of the kept ones")
    parser.add_argument("--kubernetes", choices=recordings.VERSIONS, help="both by default")
    parser.add_argument(
        "--tolerance", type=float, default=TOLERANCE_S, help="seconds that a gap may be off"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="scenarios at a time")
    parser.add_argument("--write", type=Path, help="write recordings of ours, for compare.py")
    parser.add_argument("--show", action="store_true", help="print both time lines")
    parser.add_argument("--keep", action="store_true", help="write the kept reduced recordings")
    asked = parser.parse_args(arguments)
    if asked.keep:
        if asked.recordings is None:
            parser.error("--keep needs --recordings")
        recordings.keep(asked.recordings)
    return asked


def _scenarios(asked: argparse.Namespace, version: str) -> Json:
    if asked.recordings is not None:
        every = recordings.read(asked.recordings, version)
    else:
        every = recordings.kept()[version]
    named = asked.scenario
    return {
        name: scenario
        for name, scenario in every.items()
        if not named or name in named or any(name.startswith(f"{each}-") for each in named)
    }


def _shown(scenario: Json, ours: list[list[Any]]) -> str:
    lines = [(row[0], "real", row) for row in scenario["saw"]] + [
        (row[0], "ours", row) for row in ours
    ]
    lines += [(row[0], " do ", row) for row in scenario["do"]]
    lines.sort(key=lambda each: each[0])
    return "".join(f"{at:8.2f} {who} {json.dumps(row[1:])[:200]}\n" for at, who, row in lines)


if __name__ == "__main__":
    sys.exit(main())
