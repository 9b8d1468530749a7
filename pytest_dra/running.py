"""A run as pytest sees it: prepared before collection, asked for each item, closed at the end."""

from __future__ import annotations

import contextlib
import dataclasses
import platform
import sys
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest

import pytest_dra
from pytest_dra import evidence
from pytest_dra.bench.attached import Tell
from pytest_dra.bench.attached import told_of
from pytest_dra.bench.obituary import as_whom
from pytest_dra.cases import implemented
from pytest_dra.cases import locked
from pytest_dra.catalogue import catalogue
from pytest_dra.checks.observations import merged
from pytest_dra.measuring import figures_of
from pytest_dra.options import AUTO
from pytest_dra.options import OPTIONS
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.outcome import Outcome
from pytest_dra.planning import plan_of
from pytest_dra.profile import Hardware
from pytest_dra.profile.plugged import Call
from pytest_dra.profile.plugged import plugged
from pytest_dra.recorder import Recorder
from pytest_dra.refusals import EMBEDDED
from pytest_dra.refusals import KIND
from pytest_dra.report.exits import exit_reason
from pytest_dra.report.exits import exit_status
from pytest_dra.report.files import ReportError
from pytest_dra.report.files import output_must_be_writable
from pytest_dra.report.redaction import redacted
from pytest_dra.report.results import Option
from pytest_dra.report.results import RunResult
from pytest_dra.report.terminal import summary_lines
from pytest_dra.report.verdict import Summary
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import summarise
from pytest_dra.report.writing import write_reports
from pytest_dra.selection import SelectionError
from pytest_dra.selection import select
from pytest_dra.session import Session
from pytest_dra.sessions import Sessions
from pytest_dra.showing import SKIPPING
from pytest_dra.showing import show_judged
from pytest_dra.showing import show_unjudged
from pytest_dra.site import UNSTARTABLE
from pytest_dra.spec import Json

OK = 0
FAILED = 1
INTERRUPTED = 2
USAGE_ERROR = 4
NO_TESTS = 5
"""pytest's own exit statuses."""

ENDS_WHAT_SETTLED = "REG-012"
"""The disturbing case that wants a settled process: first, since the others start new ones."""

STARTS_ANOTHER = "SLICE-003"
"""The settling case that starts a second driver: first, so that both become quiet together."""

ONE_AT_A_TIME = (
    "one case at a time, since the driver's hardware counts as real: quicker with --dra-benches=4, "
    "or with launch.hardware: fake in the profile"
)


@dataclasses.dataclass(frozen=True, slots=True)
class End:
    """What stands at the end of a run; ``problem``: why there is no report."""

    result: RunResult
    summary: Summary
    reason: str
    report_file: Path | None
    problem: str


@dataclasses.dataclass
class Run:
    """One pytest process's part in a run; ``recorder`` is used by the controller alone.

    ``asked`` is true where the cases were to run, not just whatever lies under given paths.
    """

    settings: Settings
    sessions: Sessions
    recorder: Recorder
    chosen: frozenset[str]
    output: Path
    asked: bool
    end: End | None = None
    trouble: str = ""
    observations: list[Json] = dataclasses.field(default_factory=list)

    @classmethod
    def prepare(
        cls,
        settings: Settings,
        *,
        asked: bool,
        judges: bool,
        tell: Tell | None = None,
        calls: Mapping[str, Call] | None = None,
    ) -> Run:
        """Check the settings and plan the run; nothing is started.

        Args:
            settings: with a driver or a profile.
            asked: see the class.
            judges: false where pytest only collects: then no directory is made.
            tell: shows the author of an attached driver what it needs.
            calls: functions of pytest plugins that stand for hooks of the profile, by name.

        Raises:
            OptionError: in one sentence, with the option and the way out.
        """
        settings, plan = plan_of(settings, tell=tell, calls=calls)
        output = Path(settings["dra_output"]).absolute()
        try:
            sessions = Sessions(plan)
            chosen = select(
                settings["dra_case"],
                sessions.available,
                catalogue().cases,
                elsewhere=_elsewhere(sessions),
            )
            if asked and judges:
                output_must_be_writable(output)
        except (SelectionError, ReportError) as error:
            raise OptionError(str(error)) from error
        return cls(
            settings=settings,
            sessions=sessions,
            recorder=Recorder(sessions.available),
            chosen=chosen,
            output=output,
            asked=asked,
        )

    @property
    def session(self) -> Session:
        """The one that fixtures of users' own tests use."""
        return self.sessions.main

    def header(self) -> list[str]:
        """Lines for pytest's header."""
        driver, name = self.settings["dra_driver"], "dra_driver"
        if not driver:
            driver, name = "the profile's components", "dra_profile"
        lines = [
            f"dra: judging {driver} ({self.settings.origin(name)}), "
            f"pytest-dra {pytest_dra.__version__}, catalogue {catalogue().hash}, "
            + (f"{len(self.chosen)} cases" if self.asked else "only the paths given")
        ]
        shown = [each for each in self.settings.described() if not each.startswith("driver=")]
        hooks = ", ".join(plugged(self.session.plan.profile))
        lines += [f"dra: hooks of pytest plugins: {hooks}"] if hooks else []
        lines += [f"dra: {ONE_AT_A_TIME}"] if self._one_at_a_time else []
        fleet = self.session.plan.fleet
        lines += [f"dra: {as_whom(fleet.user)}"] if fleet and fleet.user else []
        return [redacted(line) for line in (*lines, f"dra: {', '.join(shown)}")]

    @property
    def _one_at_a_time(self) -> bool:
        """True if nobody has said whether several processes of the driver may run beside others."""
        plan = self.session.plan
        mild = self.settings["dra_benches"] == AUTO and not self.settings.attached
        real = plan.profile.launch.hardware is Hardware.REAL
        return mild and real and plan.live is None and len(self.chosen) > 1

    def begin(self) -> None:
        """Remove what an earlier run has kept of its cases."""
        if self.asked:
            evidence.forget(self.output, self.sessions.available)

    def attach(self, ids: Iterable[str]) -> str:
        """Wait for a driver that its author starts, before the first of these cases.

        Returns:
            What has come, for the terminal; empty where the suite starts the driver.

        Raises:
            pytest.exit.Exception: none has come, or another than was wanted.
        """
        if self.session.plan.attachment is None or not any(ids):
            return ""
        try:
            instance = self.session.bench.instance
        except UNSTARTABLE as error:
            pytest.exit(f"--dra-driver=attach: {error}", returncode=FAILED)
        return f"dra: attached: {told_of(instance)}"

    def arrange(
        self, items: Sequence[tuple[pytest.Item, str | None]]
    ) -> tuple[list[pytest.Item], list[pytest.Item]]:
        """Chosen items in the order of least waiting, and those that ``--dra-case`` leaves out.

        At wire depth first: that takes seconds, and what is wrong there is wrong on a cluster.
        """
        own = [item for item, id in items if id is None]
        cases = [(item, id) for item, id in items if id is not None]
        kept = [pair for pair in cases if pair[1] in self.chosen]
        dropped = [item for item, id in cases if id not in self.chosen]
        kept.sort(key=lambda pair: self._turn(*pair))
        return [*own, *(item for item, _ in kept)], dropped

    def _turn(self, item: pytest.Item, id: str) -> tuple[int, tuple[int, int]]:
        session = self.sessions.of(function_of(item))
        stage = _stage(id, session, apart=session.plan.benches > 1)
        return self.sessions.every.index(session), stage

    def end_call(self, outcome: Outcome) -> None:
        """End the call of an item as its case ended.

        Raises:
            Violation, pytest.skip.Exception, or the suite's own error.
        """
        if outcome.error is not None:
            raise outcome.error
        if outcome.result.state in SKIPPING:
            pytest.skip(f"{outcome.result.state.value}: {outcome.result.reason}")

    def describe(
        self, id: str, function: object, outcome: Outcome | None, report: pytest.TestReport
    ) -> None:
        """Put the result onto pytest's report, and the case's words in place of a traceback."""
        if outcome is None:
            parameter = self.sessions.parameter(id, function)
            show_unjudged(catalogue().case(id), report, parameter=parameter)
            return
        session = self.sessions.of(function)
        show_judged(outcome, session, report, strict=self.settings.strict)
        try:
            evidence.keep(self.output, outcome, when=self.settings["dra_logs"])
        except OSError as error:
            report.sections.append(("--dra-logs", f"nothing is kept of this case: {error}"))

    def close(self) -> None:
        """End driver, kubelet and API server; what is left then is told beside the report."""
        # They only inform: a bench that has broken has none, and its case says so.
        with contextlib.suppress(Exception):
            self.recorder.figures += figures_of(self.sessions.benches())
        try:
            self.observations += self.sessions.observed()
        except Exception as error:
            self.trouble = f"the run could not be looked back at: {error}"
        try:
            self.sessions.close()
        except Exception as error:
            self.trouble = f"not everything could be ended or removed: {error}"

    def observe(self, found: Json) -> None:
        """Keep what this process or a worker of it has seen of the driver."""
        if found:
            self.observations.append(found)

    def finish(self, status: int) -> int:
        """Write the report; returns the exit status for pytest.

        pytest's own status stands unless it says success: all else (a user's test that failed,
        an interruption) weighs more than a verdict. A run in which no case was asked for nor
        collected keeps it, too.
        """
        judged = self.asked or self.recorder.expected or self.recorder.results
        if not judged or status == USAGE_ERROR:
            return status
        if status == INTERRUPTED and not self.recorder.expected:
            self.recorder.expect((id, "") for id in self.chosen)
        result = self._result()
        summary = summarise(result)
        strict, require = self.settings.strict, Verdict(self.settings["dra_require"])
        deserved = exit_status(result, summary, strict=strict, require=require)
        file, problem = self._write(result, summary)
        if status in (OK, NO_TESTS):
            status = (deserved or FAILED) if problem or self.trouble else deserved
        self.end = End(
            result=result,
            summary=summary,
            reason=exit_reason(summary, deserved, require=require) if status == deserved else "",
            report_file=file,
            problem=problem,
        )
        return status

    def _write(self, result: RunResult, summary: Summary) -> tuple[Path | None, str]:
        try:
            summaries = self.settings.summaries()
            return write_reports(result, summary, self.output, summaries=summaries), ""
        except ReportError as error:
            return None, str(error)

    def _result(self) -> RunResult:
        facts = self.recorder.facts
        return RunResult(
            driver=str(facts.get("driver") or self.settings["dra_driver_name"]),
            launched=self.settings["dra_driver"],
            kubernetes=self.settings["dra_kubernetes"],
            depths=self.sessions.depths,
            cluster=self.settings["dra_cluster"],
            node=self.settings["dra_node"],
            implemented=self.recorder.implemented,
            results=self.recorder.complete(self.sessions.known()),
            started=self.recorder.started,
            duration_s=self.recorder.duration_s(),
            profile=self.session.plan.profile,
            options=tuple(resolved_options(self.settings)),
            versions=versions_of(facts),
            catalogue=catalogue().hash,
            observations=merged(self.observations),
            figures=self.recorder.figures,
        )

    def summary(self) -> list[str]:
        """Lines for the terminal, once :meth:`finish` has run."""
        end = self.end
        if end is None:
            return []
        return summary_lines(
            end.result,
            end.summary,
            report=end.report_file,
            remarks=[*filter(None, (end.reason, end.problem, self.trouble)), *self._kept()],
        )

    def _kept(self) -> Iterator[str]:
        site = self.session.live_site
        if site is not None and site.kept:
            name = site.kept
            yield f"the cluster is kept: --dra-reuse={name}, kind delete cluster --name {name}"


def _elsewhere(sessions: Sessions) -> dict[str, frozenset[str]]:
    """Cases that this run cannot judge, by what a run is given that can."""
    if sessions.main.plan.live is not None:
        return {f"--dra-cluster={EMBEDDED}": implemented()}
    return {f"--dra-cluster={KIND}": locked() - implemented()}


def function_of(item: pytest.Item) -> object:
    """The function behind an item; None where there is none."""
    return getattr(item, "function", None)


def resolved_options(settings: Settings) -> list[Option]:
    """All options with their origins, for the report."""
    return [
        Option(
            name=option.name,
            value=settings[option.dest] == "true" if option.flag else settings[option.dest],
            source=settings.origin(option.dest),
        )
        for option in OPTIONS
    ]


def _stage(id: str, session: Session, *, apart: bool) -> tuple[int, int]:
    """Cases that only act come first, then those that wait for quiet, then those that disturb, then
    those that are judged apart, and at the end those that look back at the whole run.

    What settled slices alone can show to concern the driver waits for quiet, too.
    """
    found = session.declared(id)
    if found.settles and found.case.observation == "timeline":
        return (4, 0)
    if apart and found.apart_s:
        return (3, 0)
    if found.disturbs:
        return (2, 0 if id == ENDS_WHAT_SETTLED else 1)
    if found.settles or session.undeclared(found.case) is not None:
        return (1, 0 if id == STARTS_ANOTHER else 1)
    return (0, 1 if found.case.observation == "timeline" else 0)


def versions_of(facts: Mapping[str, object]) -> dict[str, str]:
    """The suite and what it runs on, for the report."""
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
