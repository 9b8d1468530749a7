"""``dra-allocator check``: whether what the allocator would read is valid."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from typing import Final

from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands import allocatoroutput as output
from pytest_dra.objects.findings import Finding
from pytest_dra.objects.findings import Severity
from pytest_dra.objects.findings import printable
from pytest_dra.objects.judging import review
from pytest_dra.objects.reading import Given
from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import subjects
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import results_of

_OUTPUTS: Final = ("text", "json", "yaml")

POD_CLAIM: Final = "pod-claim-missing"
GHOST: Final = "device-not-published"
TWICE: Final = "device-allocated-twice"


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    intake.add_options(parser)
    parser.add_argument("-o", "--output", choices=_OUTPUTS, default="text")
    parser.add_argument("--strict", action="store_true", help="a warning is an error, too")


def run(arguments: argparse.Namespace) -> int:
    """Judge the objects by themselves, and then with each other."""
    version, _ = intake.settings(arguments)
    given = intake.gather(arguments)
    found = list(review(given, version).findings)
    errors = any(one.severity is Severity.ERROR for one in found)
    if not errors:
        cluster = Cluster(intake.objects_of(given, version)[0])
        found += between(cluster, given)
    if arguments.output == "text":
        _write(found, len(given), version.name)
    else:
        value = [{**dataclasses.asdict(one), "severity": one.severity.value} for one in found]
        document = {"kubernetes": version.name, "objects": len(given), "findings": value}
        output.write_value(document, arguments.output)
    bad = {Severity.ERROR, Severity.WARNING} if arguments.strict else {Severity.ERROR}
    return output.DOES_NOT if any(one.severity in bad for one in found) else output.FITS


def between(cluster: Cluster, given: Sequence[Given]) -> list[Finding]:
    """What objects say of each other that is not so."""
    places = {(one.kind, one.name): one for one in given}
    found = [*_pods(cluster, places), *_devices(cluster, places)]
    return sorted(found, key=lambda one: (one.file, one.line, one.rule))


Places = dict[tuple[str, str], Given]


def _pods(cluster: Cluster, places: Places) -> list[Finding]:
    found = []
    for key, pod in cluster.pods.items():
        fault = subjects.of_pod(pod, cluster).fault
        if fault.endswith("does not exist"):
            found.append(_finding(POD_CLAIM, "Pod", key, places, fault))
    return found


def _devices(cluster: Cluster, places: Places) -> list[Finding]:
    """Devices that claims have and nobody publishes, or that several have as a whole."""
    published: set[tuple[str, str, str]] = set()
    for one in cluster.slices:
        spec = one.get("spec") or {}
        pool = (spec.get("pool") or {}).get("name") or ""
        for device in spec.get("devices") or ():
            published.add((spec.get("driver") or "", pool, device.get("name") or ""))
    pools = {key[:2] for key in published}
    found = []
    owners: dict[tuple[str, str, str], tuple[str, str]] = {}
    for key, claim in cluster.claims.items():
        for result in results_of(allocation_of(claim)):
            device = device_of(result)
            name = "/".join(device)
            if device not in published and pools:
                text = f"has device {name}, which no slice has (its counters are not charged)"
                found.append(_finding(GHOST, "ResourceClaim", key, places, text))
            if result.get("adminAccess") or result.get("shareID"):
                continue
            if device in owners and owners[device] != key:
                text = f"has device {name}, and so has claim {'/'.join(owners[device])}"
                found.append(_finding(TWICE, "ResourceClaim", key, places, text))
            owners.setdefault(device, key)
    return found


def _finding(rule: str, kind: str, key: tuple[str, str], places: Places, text: str) -> Finding:
    given = places.get((kind, "/".join(key))) or places.get((kind, key[1]))
    return Finding(
        rule=rule, severity=Severity.WARNING, message=text, file=given.file if given else "",
        line=given.line if given else 0, object=f"{kind} {'/'.join(key)}",
    )  # fmt: skip


def _write(found: Sequence[Finding], objects: int, version: str) -> None:
    for one in found:
        place = f"{printable(one.file)}:{one.line}" if one.line else printable(one.file)
        text = f"{place}: {one.severity.value}: {one.object}: {one.message} [{one.rule}]"
        sys.stdout.write(f"{text}\n")
    counts = [
        f"{sum(one.severity is severity for one in found)} {severity.value}s"
        for severity in Severity
    ]
    sys.stdout.write(f"{objects} objects, Kubernetes {version}: {', '.join(counts)}\n")
