"""The cases of ``--dra-objects`` as pytest's items, and the hooks of such a run."""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.interruption import held_back
from pytest_dra.objectrun import ObjectRun
from pytest_dra.options import OptionError
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.report.telling import failure_text
from pytest_dra.report.terminal import marks_of
from pytest_dra.showing import SKIPPING
from pytest_dra.showing import show_not_met
from pytest_dra.suite import is_case_directory
from pytest_dra.suite import is_the_packaged


class ObjectCase(pytest.Item):
    """One case, judged on the objects."""

    run: ObjectRun
    result: CaseResult | None = None

    def runtest(self) -> None:
        """Judge.

        Raises:
            AssertionError: the rule is broken.
        """
        result = self.result = self.run.judge(self.name)
        if result.state is State.FAILED:
            raise AssertionError(failure_text(result))
        if result.state in SKIPPING:
            pytest.skip(f"{result.state.value}: {result.reason}")

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> str | Any:
        """The case's own words in place of a traceback."""
        if self.result is not None and self.result.state is State.FAILED:
            return failure_text(self.result)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says that the item is."""
        return self.path, None, f"{self.name}: {catalogue().case(self.name).title}"


class ObjectCases(pytest.Directory):
    """All cases that objects alone can decide."""

    run: ObjectRun

    def collect(self) -> Iterator[ObjectCase]:
        """One item per case."""
        for id_ in sorted(self.run.chosen):
            item: ObjectCase = ObjectCase.from_parent(self, name=id_)
            item.run = self.run
            item.add_marker(pytest.mark.dra_case(id_))
            item.user_properties.append(("dra_case", id_))
            yield item


class ObjectRunner:
    """Registered in a run of ``--dra-objects`` only."""

    def __init__(self, config: pytest.Config, run: ObjectRun) -> None:
        self._config = config
        self._run = run

    def pytest_report_header(self) -> list[str]:
        """What is judged."""
        return self._run.header()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(
        self, path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Collect the cases of objects in place of those of a driver."""
        if not (is_case_directory(path) and is_the_packaged(path)):
            return None
        found: ObjectCases = ObjectCases.from_parent(parent, path=path)
        found.run = self._run
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A SHOULD that is not met fails no run, unless it is strict."""
        report = yield
        result = item.result if isinstance(item, ObjectCase) and call.when == "call" else None
        if result is not None and result.state is State.FAILED and report.failed:
            show_not_met(result, report, strict=self._run.settings.strict)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the report and decide on the exit status."""
        if not self._config.option.collectonly:
            with held_back() as held:
                session.exitstatus = self._run.finish(int(exitstatus))
            if held.came:
                session.exitstatus = pytest.ExitCode.INTERRUPTED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The same section as after a run with a driver."""
        if self._run.lines:
            terminalreporter.section("DRA conformance")
            for line in self._run.lines:
                terminalreporter.line(line, **marks_of(line))


def begin(config: pytest.Config, run: ObjectRun) -> None:
    """Take part in this run of pytest.

    Raises:
        OptionError: xdist is to start workers, which would all read the same objects.
    """
    workers = config.getoption("numprocesses", None) or config.getoption("tx", None)
    if workers or hasattr(config, "workerinput"):
        raise OptionError("--dra-objects: it takes one process; leave -n (pytest-xdist) out")
    config.pluginmanager.register(ObjectRunner(config, run), "dra-object-runner")
