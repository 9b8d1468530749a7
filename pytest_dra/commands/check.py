"""``dra-check``: judges ResourceSlices, DeviceClasses and claims in files, for people and bots."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra.api.releases import LATEST
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.commands.leaving import leave
from pytest_dra.commands.texts import gates_of
from pytest_dra.commands.texts import told
from pytest_dra.commands.texts import write_json
from pytest_dra.objects import live
from pytest_dra.objects import sarif
from pytest_dra.objects.findings import Finding
from pytest_dra.objects.findings import Severity
from pytest_dra.objects.findings import printable
from pytest_dra.objects.findings import title_of
from pytest_dra.objects.judging import merged
from pytest_dra.objects.judging import review
from pytest_dra.objects.reading import Given
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.reading import read_files
from pytest_dra.options import KUBERNETES_VERSIONS
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import ProfileError
from pytest_dra.profile import load_profile

GOOD: Final = 0
"""Exit code: no error (with ``--strict``: nothing but notes)."""
FOUND: Final = 1
"""Exit code: an error was found."""
UNUSABLE: Final = 2
"""Exit code: the input or an option cannot be used, or there was nothing to judge."""

HUMAN: Final = "human"
OUTPUTS: Final = (HUMAN, "json", "sarif")
ALL: Final = "all"
NAME: Final = "dra-check"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=NAME,
        description="Judges ResourceSlices, DeviceClasses, ResourceClaims and their templates "
        "without any driver: what an API server would refuse, and what it accepts but "
        "schedulers or users stumble over.",
        epilog="Exit code: 0 no error, 1 an error was found (with --strict: or a warning), "
        "2 the input cannot be used or holds no object of resource.k8s.io.",
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="YAML or JSON, also of several documents or lists (kubectl get ... -o yaml); - for "
        "the standard input, kubeconfig for the objects of a cluster",
    )
    parser.add_argument(
        "--kubernetes",
        metavar="VERSION,...",
        default=LATEST,
        help=f"judge for these: {', '.join(KUBERNETES_VERSIONS)}, or {ALL}; default: {LATEST}",
    )
    parser.add_argument(
        "--feature-gates", metavar="GATE=BOOL,...", default="", help="gates of Kubernetes"
    )
    parser.add_argument("--profile", metavar="FILE", help="profile of the driver")
    parser.add_argument("--context", help="context of the kubeconfig")
    parser.add_argument("--output", choices=OUTPUTS, default=HUMAN, help=f"default: {HUMAN}")
    parser.add_argument("--strict", action="store_true", help="a warning is an error, too")
    return parser


def _versions(names: str, gates: str) -> list[KubernetesVersion]:
    chosen = KUBERNETES_VERSIONS if names == ALL else [name for name in names.split(",") if name]
    if not chosen:
        raise ValueError("--kubernetes: names no version")
    turned = gates_of(gates)
    versions = [kubernetes_version(name) for name in dict.fromkeys(chosen)]
    known = {gate for version in versions for gate in version.gates}
    unknown = sorted(set(turned) - known)
    if unknown:
        raise ValueError(f"--feature-gates: no version has {', '.join(unknown)}")
    return [
        version.with_gates({gate: on for gate, on in turned.items() if gate in version.gates})
        for version in versions
    ]


def _given(arguments: argparse.Namespace) -> list[Given]:
    files = [place for place in arguments.files if place != live.KUBECONFIG]
    found = read_files(files)
    if len(files) < len(arguments.files):
        found += live.from_cluster(context=arguments.context)
    return found


def _profile(place: str | None) -> DriverProfile:
    return load_profile(Path(place), option="--profile") if place else DEFAULT_PROFILE


def check(arguments: argparse.Namespace) -> int:
    """Judge, and show what was found."""
    versions = _versions(arguments.kubernetes, arguments.feature_gates)
    profile = _profile(arguments.profile)
    given = _given(arguments)
    reviews = [review(given, version, profile) for version in versions]
    objects = reviews[0].objects
    if not objects:
        others = sorted({one.kind for one in given})
        said = f"; there are {', '.join(others[:5])}" if others else ""
        raise ValueError(f"no object of resource.k8s.io in {', '.join(arguments.files)}{said}")
    findings = merged(reviews)
    names = [version.name for version in versions]
    if arguments.output == HUMAN:
        _write_human(findings, objects, names)
    elif arguments.output == "sarif":
        write_json(sarif.document(findings, NAME))
    else:
        write_json({"kubernetes": names, "objects": objects, "findings": _plain(findings)})
    bad = {Severity.ERROR, Severity.WARNING} if arguments.strict else {Severity.ERROR}
    return FOUND if any(finding.severity in bad for finding in findings) else GOOD


def _plain(findings: Iterable[Finding]) -> list[dict[str, object]]:
    return [
        {**dataclasses.asdict(one), "severity": one.severity.value, "title": title_of(one.rule)}
        for one in findings
    ]


def _write_human(findings: Sequence[Finding], objects: int, names: Sequence[str]) -> None:
    for one in findings:
        place = f"{printable(one.file)}:{one.line}" if one.line else printable(one.file)
        only = f" (Kubernetes {', '.join(one.versions)})" if len(one.versions) < len(names) else ""
        text = f"{place}: {one.severity.value}: {one.object}: {one.message} [{one.rule}]{only}"
        sys.stdout.write(f"{text}\n")
    counts = [
        f"{sum(one.severity is severity for one in findings)} {severity.value}s"
        for severity in Severity
    ]
    told = f"{objects} object{'s' if objects > 1 else ''} of resource.k8s.io"
    sys.stdout.write(f"{told}, Kubernetes {', '.join(names)}: {', '.join(counts)}\n")


def run(arguments: Iterable[str]) -> int:
    """Run the command; the exit code."""
    parsed = _parser().parse_args(list(arguments))
    try:
        return check(parsed)
    except (ReadingError, ProfileError, ValueError) as error:
        sys.stderr.write(f"{NAME}: {told(str(error))}\n")
        return UNUSABLE


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    leave(run, arguments, broken=UNUSABLE)
