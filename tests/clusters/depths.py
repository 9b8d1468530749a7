"""Cases that are judged at wire depth and on a cluster: the same verdict at both.

    python -m tests.clusters.depths [--output DIR] [--driver NAME] [--whole] -- OPTION...

Judges the fake driver and Kubernetes' ``dra-test-driver`` with ``--dra-depth=wire,cluster``; the
options are those of pytest that say which cluster and images there are. Where a case ended
otherwise on the cluster, ``depths.json`` has both states and the reason; whatever is not listed
there fails, and so does what is listed and not seen, but for what is said to be so ``sometimes``
(by the number of nodes, or of calls), and for the state ``on_busy_machine``. ``--whole`` judges the
fake driver by all cases, and it has to be conformant. Exits 1 where something is not so, 2 without
an image of the test driver in the engine where it is asked for.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.cases import live_cases
from pytest_dra.catalogue import catalogue
from pytest_dra.clusters.engine import find_engine
from pytest_dra.report.results import AT_CLUSTER
from pytest_dra.spec import Depth
from tests.drivers import upstream
from tests.drivers.expecting import Seen
from tests.drivers.expecting import run
from tests.drivers.expecting import say

REASONS: Final = Path(__file__).with_name("depths.json")
UPSTREAM: Final = Path(upstream.__file__).with_name("upstream_image")

LIMIT_S: Final = 1800.0
"""Longest run at both depths, on a busy machine."""

FAKE: Final = "fake"
CONFORMANT: Final = "conformant"

OURS: Final = "pytest-dra"

BOTH: Final = "--dra-depth=wire,cluster"

_NUMBER: Final = re.compile(r"\d+")

States = Mapping[str, str]
Known = Mapping[str, Mapping[str, Any]]


def cases() -> list[str]:
    """Ids of the cases that are judged at both depths."""
    return sorted(id for id in live_cases() if catalogue().case(id).depth is not Depth.CLUSTER)


def pairs(states: States) -> dict[str, tuple[str, str]]:
    """The states at wire depth and on the cluster, of each case that has both."""
    return {
        id: (states[id], states[f"{id}[{AT_CLUSTER}]"])
        for id in cases()
        if id in states and f"{id}[{AT_CLUSTER}]" in states
    }


def differences(states: States, listed: Known) -> list[str]:
    """What is not as it should be: another state on the cluster without a reason, or with the
    reason of one that was not seen."""
    found = []
    judged = pairs(states)
    for id, (wire, cluster) in judged.items():
        known = listed.get(id)
        told = f"{id} is {wire} at wire depth and {cluster} on the cluster"
        if known is None and wire != cluster:
            found.append(f"{told}, and no reason is listed")
        elif known is not None and not _is_as_listed(wire, cluster, known):
            found.append(f"{told}; listed: {known['wire']} and {known['cluster']}")
    found += [
        f"{id} is listed and was not judged at both" for id in sorted(set(listed) - {*judged})
    ]
    return found


def _is_as_listed(wire: str, cluster: str, known: Mapping[str, Any]) -> bool:
    same = wire == cluster and bool(known["sometimes"])
    late = (known["wire"], known.get("on_busy_machine")) == (wire, cluster)
    return same or late or (known["wire"], known["cluster"]) == (wire, cluster)


def drivers() -> dict[str, list[str]]:
    """Options that name each driver; those of the test driver, in its newest version, only where
    its image is there."""
    found = {FAKE: ["--dra-driver=fake"]}
    engine = find_engine()
    listed = engine.call(["images", "--format", "{{.Repository}}:{{.Tag}}"]).split()
    known = [
        each
        for each in listed
        if each.partition(":")[0].rpartition("/")[2] == upstream.PROGRAM
        and "pytest-dra" not in each
    ]
    if known:
        profile = UPSTREAM / "dra-profile.yaml"
        newest = max(known, key=lambda each: [int(part) for part in _NUMBER.findall(each)])
        found[upstream.PROGRAM] = [f"--dra-driver={newest}", f"--dra-profile={profile}"]
    return found


def main(arguments: Sequence[str]) -> int:
    """Judge, and compare."""
    own, _, options = " ".join(arguments).partition("-- ")
    parser = argparse.ArgumentParser(prog="tests.clusters.depths")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--driver", default="", help="one of them; by default all")
    parser.add_argument("--whole", action="store_true", help="the fake driver by all cases")
    given = parser.parse_args(own.split())
    known, wrong = drivers(), 0
    if given.driver and given.driver not in known:
        say(f"{given.driver}: the engine has no image of it; it has {', '.join(known)}")
        return 2
    reasons: Mapping[str, Any] = json.loads(REASONS.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="dra-depths-") as temporary:
        output = given.output.absolute() if given.output else Path(temporary)
        for name in [given.driver] if given.driver else known:
            whole = given.whole and name == FAKE
            chosen = [] if whole else [f"--dra-case={','.join(cases())}"]
            every = [*known[name], BOTH, *chosen, *options.split()]
            seen = run(every, output / name, limit_s=LIMIT_S)
            wrong += _told(name, seen, reasons.get(name, {}))
            wrong += _whole(seen) if whole else 0
    say("the same at both depths" if not wrong else f"{wrong} differ")
    return 1 if wrong else 0


def _told(name: str, seen: Seen, listed: Known) -> int:
    judged, wrong = pairs(seen.states), differences(seen.states, listed)
    same = sum(wire == cluster for wire, cluster in judged.values())
    say(f"{name}: {len(judged)} cases at both depths in {seen.seconds:.0f} s, {same} the same")
    for line in wrong:
        id = line.partition(" ")[0]
        texts = [seen.texts.get(key, "") for key in (id, f"{id}[{AT_CLUSTER}]")]
        say(f"  {line}: {' | '.join(texts)}")
    return len(wrong)


def _whole(seen: Seen) -> int:
    """1 if the driver that has no fault is not conformant, with what did not pass."""
    bad = seen.verdict != CONFORMANT
    for id, state in seen.states.items() if bad else ():
        if state in ("failed", "errored", "not-run"):
            say(f"  {id} {state}: {seen.texts.get(id, '')}")
    say(f"{FAKE}, all cases at both depths: {seen.verdict}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
