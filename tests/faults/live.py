"""Each fault of a case for clusters, on a kind cluster: exactly that case must fail.

``python -m tests.faults.live [FAULT...] [-- OPTION...]``; the options are those of pytest that say
which images there are (``--dra-kind-image``, ``--dra-base-image``, ``--dra-pod-image`` ...), and
``--dra-reuse`` where a cluster is there already. One after the other: a driver has the cluster to
itself. Exits 1 where a fault is not found, or finds more than it should.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.cases import live_cases
from pytest_dra.catalogue import catalogue
from pytest_dra.report.writing import REPORT
from pytest_dra.spec import Depth
from tests.faults.faulty import also_failing
from tests.faults.run import area
from tests.sweep.pool import USUAL
from tests.sweep.pool import read_report

BUNDLED = Path(__file__).parents[2] / "fake_driver" / "dra-profile.yaml"

Difference = Callable[[str, Mapping[str, Any]], str]

BUDGETS: Final = {"pod": 45, "release": 45}
"""So that what never comes is found out soon; on an idle machine a pod takes two seconds."""

RUN_LIMIT_S: Final = 900.0
"""Longest run on one faulty driver, that one on a busy machine."""

YES: Final = {"supported": True}

AILING: Final = {
    "hooks": {
        "fault": ["touch", "{driver_dir}/faulty-{device}"],
        "heal": ["rm", "-f", "{driver_dir}/faulty-{device}"],
    }
}

HEALTH: Final = {**AILING, "features": {"DeviceHealth": YES}}
TAINTS: Final = {**AILING, "features": {"DeviceTaints": YES}}
BOTH: Final = {**AILING, "features": {"DeviceHealth": YES, "DeviceTaints": YES}}


def with_class(kind: str, feature: str, **more: Any) -> Mapping[str, Any]:
    """A profile of a driver that has devices of a further kind, and a class for them."""
    classes = {"deviceClasses": ["gpu.fake.dra.example", f"{kind}.fake.dra.example"]}
    return {"driver": classes, "features": {feature: YES}, **more}


UNPREPARED: Final = with_class("entropy", "OptionalNodeOps")
SHARED: Final = with_class("shared", "ConsumableCapacity")
DYNAMIC: Final = with_class(
    "slot", "DynamicPartition", hooks={"inventory": ["ls", "{driver_dir}/partitions"]}
)
ATTACHED: Final = with_class("attached", "BindingConditions", **AILING, budgets={"binding": 20})

METADATA: Final = {"features": {"DeviceMetadata": YES}}

OTHERWISE: Final[Mapping[str, tuple[str, Mapping[str, Any], tuple[str, ...]]]] = {
    "CDI-013": (
        "",
        {"injection": {"kind": "nri"}},
        (),
    ),
    "CAP-004": ("--features=shares", SHARED, ()),
    "CONF-007": ("--features=webhook", {"features": {"Webhook": YES}}, ()),
    "FEAT-001": ("", {"features": {"NetworkAttached": YES}}, ()),
    "HLTH-009": ("--features=health", HEALTH, ()),
    "HLTH-010": ("--features=health,taints", BOTH, ()),
    "LIFE-009": ("--features=unprepared", UNPREPARED, ()),
    "PART-007": ("--features=dynamic", DYNAMIC, ()),
    **dict.fromkeys(("BIND-002", "BIND-003"), ("--features=conditions,taints", ATTACHED, ())),
    **dict.fromkeys((f"META-{n:03}" for n in (1, 2, 3)), ("--features=metadata", METADATA, ())),
    **dict.fromkeys(("TAINT-005", "TAINT-006"), ("--features=taints", TAINTS, ())),
}
"""Arguments of the driver, parts of its profile, and options, where the plain driver lacks them."""


def faults() -> list[str]:
    """All cases that are judged on a cluster, the ones that are judged there alone first."""
    found = catalogue()
    return sorted(live_cases(), key=lambda id: (found.case(id).depth is not Depth.CLUSTER, id))


def alone(fault: str, report: Mapping[str, Any]) -> str:
    """What is wrong where a fault's own case and what it needs were judged, and nothing else."""
    states = {each["id"]: each["state"] for each in report["cases"]}
    if states.get(fault) != "failed":
        return f"{fault} is {states.get(fault, 'not there')}"
    others = [id for id, state in states.items() if id != fault and state in ("failed", "errored")]
    return f"also fails {', '.join(others)}" if others else ""


def profile_for(fault: str, directory: Path) -> Path:
    """The profile of the bundled driver with short budgets and what the fault needs."""
    found = yaml.safe_load(BUNDLED.read_text("utf-8"))
    _, more, _ = OTHERWISE.get(fault, ("", {}, ()))
    for block, values in more.items():
        found[block] = {**found.get(block, {}), **values}
    found["budgets"] = {**BUDGETS, **found.get("budgets", {})}
    found["manifests"] = [str(BUNDLED.with_name("manifests.yaml"))]
    written = directory / BUNDLED.name
    written.write_text(yaml.safe_dump(found), "utf-8")
    return written


def arguments_for(fault: str, *, cases: str, directory: Path, options: Sequence[str]) -> list[str]:
    """The run of the suite on the driver with a fault; "" is the good driver."""
    words, _, more = OTHERWISE.get(fault, ("", {}, ()))
    driver = " ".join(["fake", words, f"--fault={fault}" if fault else ""]).strip()
    return [
        *USUAL,
        f"--rootdir={directory}",
        f"--dra-driver={driver}",
        f"--dra-profile={profile_for(fault, directory)}",
        f"--dra-output={directory}",
        "--dra-cluster=kind",
        "--dra-benches=1",
        *more,
        *options,
        f"--dra-case={cases}",
    ]


def difference(fault: str, report: Mapping[str, Any]) -> str:
    """What is wrong with the run on one fault; empty if exactly the right cases fail."""
    states: dict[str, set[str]] = {}
    for entry in report["cases"]:
        states.setdefault(entry["state"], set()).add(entry["id"])
    failed = states.get("failed", set())
    wanted = {fault} | {id for id in also_failing(fault) if area(id) == area(fault)}
    said = [f"errored: {', '.join(sorted(states['errored']))}"] if "errored" in states else []
    said += [f"{id} does not fail" for id in sorted(wanted - failed)]
    return "; ".join(said + [f"also fails {id}" for id in sorted(failed - wanted)])


def judged(
    fault: str, root: Path, options: Sequence[str], cases: str, difference: Difference
) -> str:
    """Run one fault; what is wrong."""
    directory = root / fault
    directory.mkdir(parents=True)
    arguments = arguments_for(fault, cases=cases, directory=directory, options=options)
    with (directory / "output").open("wb") as output:
        subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=RUN_LIMIT_S,
            check=False,
        )
    if not (directory / REPORT).exists():
        return f"no report:\n{(directory / 'output').read_text('utf-8', 'replace')[-2000:]}"
    return difference(fault, read_report(directory / REPORT))


def main(arguments: list[str]) -> int:
    """Run all faults or those named; prints one line each and a closing line."""
    own, _, options = " ".join(arguments).partition("-- ")
    parser = argparse.ArgumentParser(prog="tests.faults.live")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--cases", default="", help="instead of the fault's own area")
    parser.add_argument("--alone", action="store_true", help="its own case, not the whole area")
    parser.add_argument("fault", nargs="*")
    given = parser.parse_args(own.split())
    chosen = given.fault or faults()
    wrong, compare = 0, alone if given.alone else difference
    with tempfile.TemporaryDirectory(prefix="dra-live-") as scratch:
        root = given.output.absolute() if given.output else Path(scratch)
        for fault in chosen:
            began = time.monotonic()
            cases = given.cases or (fault if given.alone else area(fault))
            problem = judged(fault, root, options.split(), cases, compare)
            wrong += bool(problem)
            seconds = time.monotonic() - began
            sys.stdout.write(f"{fault} {seconds:5.1f} s  {problem or 'exactly its case fails'}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - wrong} passed, {wrong} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
