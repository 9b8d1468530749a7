"""SIGKILL of pytest at random moments: ``python -m tests.soak.killed_runs [OPTION...] -- FLAG...``.

A run on a cluster is started with the flags, killed at a moment of its life, in every second round
together with its keeper, and then ``pytest --dra-cleanup`` is run. After that nothing may be there
that was not there before: no kind cluster, container, network or namespace. The closing line has
the numbers; exits 1 if anything was left.

    python -m tests.soak.killed_runs --count 10 --span 60 -- --dra-driver=fake --dra-cluster=kind
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pytest_dra.api.resources import NAMESPACES
from pytest_dra.clusters.kindrecords import VARIABLE
from pytest_dra.clusters.kindrecords import KindRecords
from pytest_dra.clusters.kubeconfig import KubeconfigCluster
from pytest_dra.launch.tool import call
from pytest_dra.refusals import context_of
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

COUNT = 10
SEED = 1
SPAN_S = 60.0

KEEPER = "keeper.py"
KEPT_S = 180.0
"""Longest wait for what the keeper does at the end."""

CLEANUP_S = 400.0
"""Longest cleanup: a namespace and a cluster or two."""

SHORT_S = 60.0
EVERY_S = 0.25

Seen = dict[str, frozenset[str]]


def seen(cluster: str) -> Seen:
    """What there is that a run can leave."""
    found = {
        "clusters": call(["kind", "get", "clusters"], timeout_s=SHORT_S).split(),
        "containers": call(
            ["docker", "ps", "--all", "--format", "{{.Names}}"], timeout_s=SHORT_S
        ).split(),
        "networks": call(
            ["docker", "network", "ls", "--format", "{{.Name}}"], timeout_s=SHORT_S
        ).split(),
        "namespaces": list(_namespaces(cluster)),
    }
    return {kind: frozenset(names) for kind, names in found.items()}


def _namespaces(cluster: str) -> Iterator[str]:
    context = context_of(cluster)
    if context is None:
        return
    known = KubeconfigCluster(context, keeper=None)
    try:
        known.start()
        for each in known.admin().list(NAMESPACES):
            yield str(each["metadata"]["name"])
    finally:
        known.stop()


def keepers_of(pid: int) -> list[int]:
    """The keepers that a pytest has started."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            if words[-2:] == [str(pid), ""] and words[-3].endswith(KEEPER):
                found.append(int(folder.name))
    return found


def children_of(pid: int) -> list[int]:
    """Processes that a pytest has started itself: workers of xdist."""
    with suppress(OSError):
        told = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        return [int(each) for each in told.split()]
    return []


def killed(
    flags: Sequence[str], *, after_s: float, with_keeper: bool, folder: Path
) -> list[str] | None:
    """Start a run and kill it; the kind clusters that it had begun, None if it had ended before."""
    with (folder / "run.log").open("wb") as log:
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", *flags],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with suppress(subprocess.TimeoutExpired):
            run.wait(after_s)
            return None
        keepers, workers = keepers_of(run.pid), children_of(run.pid)
        keepers += [each for worker in workers for each in keepers_of(worker)]
        clusters = KindRecords().known()
        if with_keeper:
            # Together, as where a machine ends everything of a job.
            for pid in keepers:
                os.kill(pid, signal.SIGKILL)
        run.kill()
        run.wait(SHORT_S)
    # Workers of xdist end themselves, their keepers with them.
    left = [*keepers, *workers]
    poll(lambda: not any(map(_lives, left)), Deadline.after(KEPT_S), every_s=EVERY_S)
    return clusters


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def cleaned(flags: Sequence[str], folder: Path) -> str:
    """Run the cleanup; what it said."""
    where = [each for each in flags if each.startswith(("--dra-cluster=", "--dra-reuse="))]
    return call(
        [sys.executable, "-m", "pytest", "--dra-cleanup", *where],
        timeout_s=CLEANUP_S,
        cwd=folder,
    )


def left(before: Seen, after: Seen, clusters: Iterable[str]) -> list[str]:
    """What is there that was not, but for the kind clusters of others."""
    mine = tuple(clusters)
    return [
        f"{kind}: {name}"
        for kind in before
        for name in sorted(after[kind] - before[kind])
        if kind in ("networks", "namespaces") or (mine and name.startswith(mine))
    ]


def main(arguments: list[str]) -> int:
    """Kill and clean; print each round and a closing line."""
    parser = argparse.ArgumentParser(prog="tests.soak.killed_runs")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--span", type=float, default=SPAN_S, help="latest moment, in seconds")
    parser.add_argument("flags", nargs="+", help="of the runs, behind --")
    options = parser.parse_args(arguments)
    cluster = next(
        (each.partition("=")[2] for each in options.flags if each.startswith("--dra-cluster=")), ""
    )
    draw = random.Random(options.seed)  # noqa: S311 (moments to be repeated, no secret)
    state = tempfile.mkdtemp(prefix="dra-killed-")
    os.environ[VARIABLE] = state
    before = seen(cluster)
    kills = by_keeper = 0
    lost: list[str] = []
    for number in range(options.count):
        after_s, both = draw.uniform(0.5, options.span), bool(number % 2)
        with tempfile.TemporaryDirectory(prefix="dra-killed-") as name:
            folder, began = Path(name), time.monotonic()
            clusters = killed(options.flags, after_s=after_s, with_keeper=both, folder=folder)
            kills += clusters is not None
            first = left(before, seen(cluster), clusters or ())
            by_keeper += not first and not both
            told = cleaned(options.flags, folder)
            rest = left(before, seen(cluster), clusters or ())
        lost += rest
        sys.stdout.write(
            f"{number}: killed after {after_s:.1f} s{' with its keeper' if both else ''}: "
            f"left {first or 'nothing'}, after --dra-cleanup {rest or 'nothing'} "
            f"({time.monotonic() - began:.0f} s)\n"
            + "".join(f"    {line}\n" for line in told.splitlines() if "removed" in line)
        )
        sys.stdout.flush()
    sys.stdout.write(
        f"seed {options.seed}, {shlex.join(options.flags)}: {options.count} rounds, {kills} kills, "
        f"{by_keeper} cleaned by the keeper alone, {len(lost)} left\n"
    )
    shutil.rmtree(state)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
