"""What breaks on a real node when a driver does not do what it only SHOULD do.

``python -m tests.faults.breakage [CASE...] -- OPTION...`` runs the good driver and the one with the
case's fault on a kind cluster through the same user's story, and writes what was seen of pods and
events to ``breakage.json`` beside this file; the options are those of ``tests.faults.live``. The
decision about the case's level stands there as well, and a test holds the catalogue to it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.api import resources
from pytest_dra.catalogue import catalogue
from pytest_dra.checks import overlaps
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.conformance.test_life_live import STAMPS
from pytest_dra.conformance.test_life_live import TELLING
from pytest_dra.kube import KubeError
from pytest_dra.launch import Keeper
from pytest_dra.launch.tool import ToolError
from pytest_dra.live import LiveBench
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import CONTAINER
from pytest_dra.live.asking import NODE_FOLDER
from pytest_dra.live.asking import Ask
from pytest_dra.live.asking import Use
from pytest_dra.live.asking import claim_spec
from pytest_dra.live.pods import Pod
from pytest_dra.livesite import LiveSite
from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from tests.faults.live import BUNDLED

FILE: Final = Path(__file__).with_name("breakage.json")

Seen = dict[str, Any]

ROUNDS: Final = 5
"""Forced deletions at most."""

NONE: Final = "none"
GOOD: Final = "good driver"
FAULTY: Final = "with the fault"

RUNS_S: Final = 60.0
"""Longest wait for a pod that may never run; an idle machine takes two seconds."""

ANY: Final = "any.fake.dra.example"
"""A class of all devices of the driver."""

WHOLE: Final = 'device.attributes["fake.dra.example"].kind == "whole"'
HALF: Final = 'device.attributes["fake.dra.example"].kind == "half"'

BAD: Final = {"apiVersion": "fake.dra.example/v1", "kind": "DeviceConfig", "mode": "upside-down"}

REMOUNT: Final = (
    "for pid in $(pgrep -f pytest_dra.fake_driver); do"
    " if nsenter -t $pid -m -p mountpoint -q /var/run/cdi; then"
    " nsenter -t $pid -m -p mount -o remount,bind,{how} /var/run/cdi; fi; done"
)
"""Lets the plugin's containers write their CDI directory, or not; a controller has none."""


def pod_seen(bench: LiveBench, pod: Pod) -> Seen:
    """Phase, reasons for waiting, and warnings of a pod; what its container sees, if it runs."""
    runs = bench.pods.runs_within(pod, RUNS_S)
    status = (bench.pods.state(pod) or {}).get("status") or {}
    found: Seen = {
        "phase": status.get("phase") or "gone",
        "runs": runs,
        "warnings": sorted(set(bench.pods.warnings(pod))),
    }
    if runs:
        with suppress(ClusterError):
            found["sees"] = bench.pods.run_in(pod, bench.probe.command).split()
    return found


def forced(bench: LiveBench, first: Ask, second: Ask) -> Seen:
    """A pod that ignores SIGTERM is deleted by force; the next one wants the hardware.

    Several times, until both have run at a time: that hangs on who is quicker.
    """
    found: Seen = {}
    for number in range(1, ROUNDS + 1):
        found = {**_forced_once(bench, first, second), "rounds": number}
        if found.get("overlap", NONE) != NONE:
            break
    return {"the next pod": found}


def _forced_once(bench: LiveBench, first: Ask, second: Ask) -> Seen:
    claim = bench.claim(first)
    file = f"{STAMPS}/{bench.namespace}-{claim}"
    holder = _telling(bench, overlaps.FIRST, file, claim)
    bench.pods.must_run(holder)
    bench.pods.delete(holder, grace_s=0)
    successor = _telling(bench, overlaps.SECOND, file, bench.claim(second))
    found = pod_seen(bench, successor)
    if found["runs"]:
        told = bench.pods.run_in(successor, ["cat", file])
        bench.pods.run_in(successor, ["sh", "-c", f": > {file}"])
        try:
            overlaps.must_not_overlap("the first pod", "the next one", told, warnings=[])
            found["overlap"] = NONE
        except Violation as violation:
            found["overlap"] = str(violation.got)
    bench.pods.end(successor)
    return found


def _telling(bench: LiveBench, name: str, file: str, claim: str) -> Pod:
    command = ("sh", "-c", TELLING.format(name=name, file=file))
    use = Use(
        name=CONTAINER, claims=((CLAIM, None),), command=command, mounts={STAMPS: NODE_FOLDER}
    )
    return bench.pod(claims={CLAIM: claim}, uses=[use])


def same_device(bench: LiveBench) -> Seen:
    """See :func:`forced`: the same device."""
    return forced(bench, bench.ask(pinned=True), bench.ask(pinned=True))


def whole_and_half(bench: LiveBench) -> Seen:
    """See :func:`forced`: a device, and then a part of it."""
    selector = {"cel": {"expression": 'device.driver == "fake.dra.example"'}}
    body = {"metadata": {"name": ANY, **bench.marks}, "spec": {"selectors": [selector]}}
    bench.client.create(resources.DEVICE_CLASSES, body)
    try:
        asks = [Ask(device_class=ANY, selectors=(each,)) for each in (WHOLE, HALF)]
        return forced(bench, *asks)
    finally:
        bench.pods.clear()
        bench.client.delete(resources.DEVICE_CLASSES, ANY)


def no_directory(bench: LiveBench) -> Seen:
    """The CDI directory cannot be written; the pod that met this is deleted by force, then the
    directory is mended, and the next pod wants the device."""
    node = bench.node
    node.run("sh", "-c", REMOUNT.format(how="ro"))
    try:
        claim = bench.claim(bench.ask(pinned=True))
        pod = bench.pod_with(claim)
        first = pod_seen(bench, pod)
        bench.pods.delete(pod, grace_s=0)
        bench.claims.delete(claim)
    finally:
        node.run("sh", "-c", REMOUNT.format(how="rw"))
    following = bench.pod_with(bench.claim(bench.ask(pinned=True)))
    return {"the pod that met it": first, "the next pod": pod_seen(bench, following)}


def no_claim(bench: LiveBench) -> Seen:
    """A pod has the device; another one has no claim."""
    holder = bench.pod_with(bench.claim())
    first = pod_seen(bench, holder)
    return {"the pod with a claim": first, "the pod without": pod_seen(bench, bench.pod())}


def no_configuration(bench: LiveBench) -> Seen:
    """A pod with a claim that has no configuration."""
    return {"the pod": pod_seen(bench, bench.pod_with(bench.claim()))}


def bad_configuration(bench: LiveBench) -> Seen:
    """A pod with a claim whose configuration the driver cannot read."""
    name = bench.name("claim")
    spec = claim_spec(bench.ask())
    spec["devices"]["config"] = [{"opaque": {"driver": bench.driver.name, "parameters": BAD}}]
    bench.claims.create(name, spec)
    pod = bench.pod_with(name)
    found = pod_seen(bench, pod)
    if found["runs"]:
        lines = bench.pods.run_in(pod, ["env"]).splitlines()
        found["environment"] = sorted(each for each in lines if "#" in each)
    return {"the pod": found}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What a user does, and arguments of the driver."""

    act: Callable[[LiveBench], Seen]
    arguments: str = ""


STORIES: Final[Mapping[str, Story]] = {
    "PREP-012": Story(act=same_device),
    "PREP-013": Story(act=no_directory),
    "PART-010": Story(act=whole_and_half, arguments="--features=partitions"),
    "LIFE-012": Story(act=same_device),
    "SHARE-003": Story(act=no_claim),
    "CONF-001": Story(act=no_configuration),
    "CONF-003": Story(act=bad_configuration),
}


def told(cases: Sequence[str], fault: str, options: Sequence[str]) -> dict[str, Seen]:
    """What is seen in the stories of these cases on one driver."""
    arguments = STORIES[cases[0]].arguments
    words = f"fake {arguments} {f'--fault={fault}' if fault else ''}"
    given: dict[str, Any] = {"dra_driver": " ".join(words.split()), "dra_cluster": "kind"}
    given["dra_profile"] = str(BUNDLED)
    for option in options:
        name, _, value = option.removeprefix("--").partition("=")
        given[name.replace("-", "_")] = value or True
    _, plan = plan_of(resolve(flag=given.get, ini=lambda _: None, environ={}))
    found: dict[str, Seen] = {}
    with Keeper() as keeper:
        site = LiveSite(plan, lambda: keeper)
        try:
            site.bench.driver.must_publish()
            for case in cases:
                found[case] = _seen(site.bench, case)
        finally:
            site.close()
    return found


def _seen(bench: LiveBench, case: str) -> Seen:
    try:
        with bench.case(catalogue().case(case)):
            return STORIES[case].act(bench)
    except (Violation, UnsupportedEnvironment, ClusterError, ToolError, KubeError) as error:
        return {"problem": str(error)}


def note(name: str, found: Mapping[str, Seen]) -> None:
    """Put what was seen on a driver into the file."""
    known = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    for case, seen in found.items():
        known.setdefault(case, {})[name] = seen
        sys.stdout.write(f"{case} {name}: {json.dumps(seen)}\n")
    sys.stdout.flush()
    FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")


def main(arguments: list[str]) -> int:
    """Run the stories and write the file; 1 where one could not be told."""
    own, _, options = " ".join(arguments).partition("-- ")
    parser = argparse.ArgumentParser(prog="tests.faults.breakage")
    parser.add_argument("case", nargs="*")
    chosen = parser.parse_args(own.split()).case or list(STORIES)
    problems = False
    for case in chosen:
        found = told([case], case, options.split())
        problems |= "problem" in found[case]
        note(FAULTY, found)
    for group in ("", "--features=partitions"):
        cases = [case for case in chosen if STORIES[case].arguments == group]
        if cases:
            note(GOOD, told(cases, "", options.split()))
    return int(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
