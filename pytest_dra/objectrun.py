"""``--dra-objects``: a run that judges captured objects at static depth, without any driver."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest_dra
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from pytest_dra.featuregates import feature_gates
from pytest_dra.objects import live
from pytest_dra.objects.findings import OWN_RULES
from pytest_dra.objects.findings import Finding
from pytest_dra.objects.findings import Severity
from pytest_dra.objects.judging import SHIPPED
from pytest_dra.objects.judging import Review
from pytest_dra.objects.judging import merged
from pytest_dra.objects.judging import review
from pytest_dra.objects.reading import Given
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.reading import read_files
from pytest_dra.objects.rules import OF_SLICES
from pytest_dra.objects.shipped import OF_MANIFESTS
from pytest_dra.objects.usage import CLASSES
from pytest_dra.objects.usage import OF_USERS
from pytest_dra.options import KUBERNETES_VERSIONS
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import ProfileError
from pytest_dra.profile import load_profile
from pytest_dra.report.exits import exit_reason
from pytest_dra.report.exits import exit_status
from pytest_dra.report.files import ReportError
from pytest_dra.report.files import output_must_be_writable
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.results import failed
from pytest_dra.report.results import not_run
from pytest_dra.report.results import waived
from pytest_dra.report.terminal import summary_lines
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import summarise
from pytest_dra.report.writing import write_reports
from pytest_dra.running import FAILED
from pytest_dra.running import NO_TESTS
from pytest_dra.running import OK
from pytest_dra.running import resolved_options
from pytest_dra.running import versions_of
from pytest_dra.selection import SelectionError
from pytest_dra.selection import select
from pytest_dra.spec import Case
from pytest_dra.spec import Depth
from pytest_dra.spec import Violation

NEEDS_MANIFESTS: Final = "it takes the driver's manifests (a profile's manifests, --dra-driver)"
"""Why a case of shipped objects has nothing to look at here."""

NEEDS_DRIVER: Final = "it takes a driver that runs (--dra-driver)"
"""Why a case is not judged on objects alone."""

CLUSTER: Final = "none"
"""What stands for the cluster in the report."""

REMARKS_MAX: Final = 20
"""Findings beside the cases that the terminal shows."""


def judged_ids() -> frozenset[str]:
    """Ids of the cases that objects alone can decide."""
    users = {id_ for id_, _, _ in OF_USERS if id_ not in OWN_RULES}
    return frozenset(OF_SLICES) | frozenset(OF_MANIFESTS) | users


@dataclasses.dataclass
class ObjectRun:
    """The part of one pytest process, which is the only one."""

    settings: Settings
    profile: DriverProfile
    found: Review
    chosen: frozenset[str]
    output: Path
    asked: bool
    results: dict[str, CaseResult] = dataclasses.field(default_factory=dict)
    lines: list[str] = dataclasses.field(default_factory=list)
    began: float = dataclasses.field(default_factory=time.monotonic)

    @classmethod
    def prepare(cls, settings: Settings, *, judges: bool) -> ObjectRun:
        """Read and judge the objects.

        Raises:
            OptionError: in one sentence, with file and line where the objects cannot be read.
        """
        if settings["dra_driver"]:
            raise OptionError("--dra-objects: objects are judged without a driver; leave one out")
        place = settings["dra_objects"]
        output = Path(settings["dra_output"]).absolute()
        try:
            chosen = select(settings["dra_case"], judged_ids(), catalogue().cases)
            if judges:
                output_must_be_writable(output)
            name = settings["dra_profile"]
            profile = load_profile(Path(name)) if name else DEFAULT_PROFILE
            source, _, context = place.partition(":")
            given = (
                live.from_cluster(context=context or None)
                if source == live.KUBECONFIG
                else read_files([place])
            )
        except (SelectionError, ReportError) as error:
            raise OptionError(str(error)) from error
        except ProfileError as error:
            raise OptionError(f"--dra-profile: {error}") from error
        except ReadingError as error:
            raise OptionError(f"--dra-objects: {error}") from error
        found = _reviewed(given, settings, profile)
        if not found.objects:
            raise OptionError(f"--dra-objects={place}: there is no object of resource.k8s.io")
        return cls(
            settings=settings,
            profile=profile,
            found=found,
            chosen=chosen,
            output=output,
            asked=judges,
        )

    def header(self) -> list[str]:
        """Lines for pytest's header."""
        shown = [each for each in self.settings.described() if not each.startswith("objects=")]
        return [
            f"dra: judging {self.found.objects} objects of {self.settings['dra_objects']} "
            f"({self.settings.origin('dra_objects')}), pytest-dra {pytest_dra.__version__}, "
            f"catalogue {catalogue().hash}, {len(self.chosen)} cases",
            f"dra: {', '.join(shown)}",
        ]

    def judge(self, id_: str) -> CaseResult:
        """The result of one case."""
        case = catalogue().case(id_)
        result = self.results[id_] = self._result(case)
        return result

    def _result(self, case: Case) -> CaseResult:
        findings = [one for one in self.found.findings if one.rule == case.id]
        reason = self.found.not_applicable.get(case.id)
        if reason is not None and not findings:
            return CaseResult(case=case, state=State.NOT_APPLICABLE, reason=reason)
        waiver = self.profile.waivers.get(case.id)
        if waiver is not None:
            return waived(case, waiver)
        if case.id in self.found.not_run:
            return not_run(case, self.found.not_run[case.id])
        if not findings:
            return CaseResult(case=case, state=State.PASSED)
        first, *others = findings
        violation = Violation(
            f"{_place(first)}: {first.object}", got=_message(first), want=case.requirement
        )
        notes = tuple(f"{_place(one)}: {one.object}: {_message(one)}" for one in others)
        return dataclasses.replace(failed(case, violation), notes=notes)

    def finish(self, status: int) -> int:
        """Write the report; the exit status for pytest."""
        if not self.asked or status not in (OK, FAILED, NO_TESTS):
            return status
        result = self._run_result()
        summary = summarise(result)
        strict, require = self.settings.strict, Verdict(self.settings["dra_require"])
        deserved = exit_status(result, summary, strict=strict, require=require)
        beside = [one for one in self.found.findings if one.rule in OWN_RULES]
        if deserved == OK and any(one.severity is Severity.ERROR for one in beside):
            deserved = FAILED
        remarks = [
            f"{one.severity.value}, {_place(one)}: {one.object}: {one.message} [{one.rule}]"
            for one in beside[:REMARKS_MAX]
        ]
        if len(beside) > REMARKS_MAX:
            remarks.append(f"{len(beside) - REMARKS_MAX} more; dra-check shows them")
        file = None
        try:
            file = write_reports(
                result,
                summary,
                self.output,
                findings=self.found.findings,
                summaries=self.settings.summaries(),
            )
        except ReportError as error:
            remarks.append(str(error))
            deserved = deserved or FAILED
        remarks += filter(None, [exit_reason(summary, deserved, require=require)])
        self.lines = summary_lines(result, summary, report=file, remarks=remarks)
        return deserved if status in (OK, NO_TESTS) else status

    def _run_result(self) -> RunResult:
        judged = judged_ids()
        cases: Mapping[str, Case] = {id_: catalogue().case(id_) for id_ in implemented() | judged}
        rest = [_left(case) for id_, case in cases.items() if id_ not in judged]
        return RunResult(
            driver=", ".join(self.found.drivers),
            launched="",
            kubernetes=self.settings["dra_kubernetes"],
            depths=(Depth.STATIC,),
            cluster=CLUSTER,
            implemented=cases,
            results=(*self.results.values(), *rest),
            started=datetime.datetime.now(datetime.timezone.utc),
            duration_s=time.monotonic() - self.began,
            profile=self.profile,
            options=tuple(resolved_options(self.settings)),
            versions=versions_of({}),
            catalogue=catalogue().hash,
        )


def _reviewed(given: Sequence[Given], settings: Settings, profile: DriverProfile) -> Review:
    """The review for one version; shipped objects have to be valid for all that the driver names.

    Those are in ``driver.kubernetes`` of the profile.
    """
    kubernetes = settings["dra_kubernetes"]
    version = kubernetes_version(kubernetes).with_gates(feature_gates(settings))
    found = review(given, version, profile)
    range_ = profile.driver.kubernetes
    others = [
        each for each in KUBERNETES_VERSIONS if range_ and each in range_ and each != kubernetes
    ]
    shipped = [one for one in given if one.kind in CLASSES]
    further = [review(shipped, kubernetes_version(each), profile) for each in others if shipped]
    kept = [
        dataclasses.replace(
            each, findings=tuple(one for one in each.findings if one.rule == SHIPPED)
        )
        for each in further
    ]
    return dataclasses.replace(found, findings=tuple(merged([found, *kept])))


def _left(case: Case) -> CaseResult:
    if case.id in OF_MANIFESTS:
        return CaseResult(case=case, state=State.NOT_APPLICABLE, reason=NEEDS_MANIFESTS)
    return not_run(case, NEEDS_DRIVER)


def _message(finding: Finding) -> str:
    versions = ", ".join(sorted(finding.versions))
    return f"{finding.message} (Kubernetes {versions})"


def _place(finding: Finding) -> str:
    return f"{finding.file}:{finding.line}" if finding.line else finding.file
