"""A run as pytest sees it: prepared before collection, asked for each item, closed at the end."""

from __future__ import annotations

import dataclasses
import platform
import sys
from collections.abc import Mapping
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest

import pytest_dra
from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from pytest_dra.evidence import keep
from pytest_dra.options import DEFAULT
from pytest_dra.options import OPTIONS
from pytest_dra.options import OptionError
from pytest_dra.options import Setting
from pytest_dra.options import Settings
from pytest_dra.options import check_later_features
from pytest_dra.options import check_output
from pytest_dra.options import check_platform
from pytest_dra.planning import load_driver_profile
from pytest_dra.planning import make_plan
from pytest_dra.planning import profile_settings
from pytest_dra.recorder import FACTS
from pytest_dra.recorder import RESULT
from pytest_dra.recorder import Recorder
from pytest_dra.report.exits import exit_status
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import Option
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.terminal import summary_lines
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import summarise
from pytest_dra.report.writing import write_reports
from pytest_dra.selection import SelectionError
from pytest_dra.selection import select
from pytest_dra.session import Outcome
from pytest_dra.session import Session
from pytest_dra.spec import Depth
from pytest_dra.spec import Level

INTERRUPTED = 2
USAGE_ERROR = 4
NO_TESTS = 5
"""pytest's own exit statuses that a verdict must not hide."""

LOG_LINES = 30
"""Lines of the driver's output that pytest shows for a failed case."""

SKIPPING = frozenset({State.WAIVED, State.UNSUPPORTED_ENVIRONMENT, State.NOT_RUN})
"""States that pytest shows as skipped: environment, input or waiver."""


@dataclasses.dataclass
class Run:
    """One pytest process's part in a run; ``recorder`` is used by the controller alone."""

    settings: Settings
    session: Session
    recorder: Recorder
    chosen: frozenset[str]
    command_line: tuple[str, ...]
    output: Path
    paths_given: bool = False
    result: RunResult | None = None
    report_file: Path | None = None

    @classmethod
    def prepare(
        cls, settings: Settings, *, command_line: Sequence[str], writes_report: bool = True
    ) -> Run:
        """Check the settings and plan the run; nothing is started.

        Raises:
            OptionError: in one sentence, with the option and the way out.
        """
        check_platform()
        check_later_features(settings)
        profile = load_driver_profile(settings)
        settings = settings.with_profile(profile_settings(profile))
        plan = make_plan(settings, profile)
        output = Path(settings["dra_output"]).absolute()
        if writes_report:
            check_output(output)
        try:
            chosen = select(settings["dra_case"], implemented(), catalogue().cases)
        except SelectionError as error:
            raise OptionError(str(error)) from error
        return cls(
            settings=settings,
            session=Session(plan),
            recorder=Recorder(implemented()),
            chosen=chosen,
            command_line=tuple(command_line),
            output=output,
        )

    def header(self) -> list[str]:
        """Lines for pytest's header."""
        driver = self.settings["dra_driver"] or "the profile's components"
        origin = self.settings.origin("dra_driver")
        lines = [
            f"dra: judging {driver} ({origin}), pytest-dra {pytest_dra.__version__}, "
            f"{len(self.chosen)} cases, catalogue {catalogue().hash}"
        ]
        shown = [each for each in self.settings.described() if not each.startswith("driver=")]
        return [*lines, f"dra: {', '.join(shown)}"]

    def arrange(
        self, items: Sequence[tuple[pytest.Item, str | None]]
    ) -> tuple[list[pytest.Item], list[pytest.Item]]:
        """Chosen items in the order of least waiting, and those that ``--dra-case`` leaves out."""
        own = [item for item, id in items if id is None]
        kept = [(item, id) for item, id in items if id is not None and id in self.chosen]
        dropped = [item for item, id in items if id is not None and id not in self.chosen]
        kept.sort(key=lambda pair: _stage(pair[1]))
        return [*own, *(item for item, _ in kept)], dropped

    def judge_for(self, item: pytest.Function, id: str) -> None:
        """Judge a case and end the item's call accordingly.

        Raises:
            Violation, pytest.skip.Exception, or the suite's own error.
        """
        outcome = self.session.judge(id)
        item.stash[_OUTCOME] = outcome
        if outcome.error is not None:
            raise outcome.error
        if outcome.result.state in SKIPPING:
            pytest.skip(f"{outcome.result.state.value}: {outcome.result.reason}")

    def describe(
        self,
        item: pytest.Item,
        id: str,
        call: pytest.CallInfo[None],
        report: pytest.TestReport,
    ) -> None:
        """Put the result onto pytest's report, and the case's words in place of a traceback."""
        outcome = item.stash.get(_OUTCOME, None)
        if report.when == "call" and outcome is not None:
            self._describe_judged(outcome, report)
        elif report.failed and call.excinfo is not None:
            case = catalogue().case(id)
            text = str(report.longrepr)
            result = CaseResult(case=case, state=State.ERRORED, error=text)
            setattr(report, RESULT, result.to_dict())

    def _describe_judged(self, outcome: Outcome, report: pytest.TestReport) -> None:
        result = outcome.result
        setattr(report, RESULT, result.to_dict())
        setattr(report, FACTS, self._facts())
        if result.state in (State.FAILED, State.ERRORED):
            log = "\n".join(self.session.driver_log().splitlines()[-LOG_LINES:])
            if log:
                report.sections.append(("driver output (end)", log))
        keep(self.output, result, self.session, when=self.settings["dra_logs"])
        if result.state is not State.FAILED or result.finding is None:
            return
        case, finding = result.case, result.finding
        lines = [
            f"{case.id} {case.level.value}: {case.title}",
            finding.where,
            f"  got:  {finding.got}",
            f"  want: {finding.want}",
            f"  from: {finding.source}",
            *(f"  | {line}" for line in result.excerpt),
        ]
        report.longrepr = "\n".join(lines)
        if case.level is not Level.MUST and not self.settings.strict:
            # pytest's way to say: it failed, and the run goes on and may still succeed.
            report.outcome = "skipped"
            report.wasxfail = f"{case.level.value} not met: {finding.where}"

    def _facts(self) -> dict[str, object]:
        plugin = self.session.plugin()
        return {
            "driver": self.session.driver_name(),
            "service": plugin.service if plugin else "",
            "supported_versions": list(plugin.info.supported_versions) if plugin else [],
        }

    def close(self) -> None:
        """End driver, kubelet and API server."""
        self.session.close()

    def finish(self, status: int) -> int:
        """Write the report; returns the exit status for pytest.

        A run in which no case was asked for (a user's own paths) keeps pytest's status.
        """
        asked = self.recorder.cases_collected or self.recorder.results or self._suite_was_asked()
        if not asked or status == USAGE_ERROR:
            return status
        self.result = self._run_result()
        summary = summarise(self.result)
        self.report_file = write_reports(self.result, summary, self.output)
        deserved = exit_status(
            self.result,
            summary,
            strict=self.settings.strict,
            require=Verdict(self.settings["dra_require"]),
        )
        if status not in (0, 1, NO_TESTS):
            return status
        if self.recorder.own_failures:
            return 1
        return deserved

    def _suite_was_asked(self) -> bool:
        return self.settings["dra_suite"] in ("only", "with") or (
            self.settings["dra_suite"] == "auto" and not self.paths_given
        )

    def _run_result(self) -> RunResult:
        facts = self.recorder.facts
        return RunResult(
            driver=str(facts.get("driver") or self.settings["dra_driver_name"]),
            launched=self.settings["dra_driver"],
            kubernetes=self.settings["dra_kubernetes"],
            depth=Depth.WIRE,
            cluster=self.settings["dra_cluster"],
            implemented=self.recorder.implemented,
            results=self.recorder.results,
            started=self.recorder.started,
            duration_s=self.recorder.duration_s(),
            profile=self.session.plan.profile,
            options=tuple(
                Option(
                    name=option.name,
                    value=self.settings[option.dest] == "true"
                    if option.flag
                    else self.settings[option.dest],
                    source=self.settings.origin(option.dest),
                )
                for option in OPTIONS
            ),
            versions=_versions(facts),
            catalogue=catalogue().hash,
        )

    def summary(self) -> list[str]:
        """Lines for the terminal, once :meth:`finish` has run."""
        if self.result is None:
            return []
        return summary_lines(self.result, summarise(self.result), report=self.report_file)


_OUTCOME = pytest.StashKey[Outcome]()


def _stage(id: str) -> tuple[int, int]:
    """Cases that only act come first, then those that wait for quiet, then those that disturb."""
    found = declared(id)
    if found.case.disruptive:
        return (2, 0)
    if found.settles:
        # The one that starts a second driver goes first: both become quiet at the same time.
        return (1, 0 if id == "SLICE-003" else 1)
    return (0, 1 if found.case.observation == "timeline" else 0)


def _versions(facts: Mapping[str, object]) -> dict[str, str]:
    found = {
        "pytest-dra": pytest_dra.__version__,
        "python": platform.python_version(),
        "pytest": pytest.__version__,
        "platform": f"{sys.platform} {platform.machine()}",
    }
    for package in ("grpcio", "aiohttp", "kubernetes"):
        found[package] = metadata.version(package)
    if facts.get("service"):
        found["service"] = str(facts["service"])
    return found


def fake_settings() -> Settings:
    """Settings of a run of the bundled driver, for fixtures without options."""
    found = {option.dest: Setting(option.default, DEFAULT) for option in OPTIONS}
    found["dra_driver"] = Setting("fake", DEFAULT)
    return Settings(found)
