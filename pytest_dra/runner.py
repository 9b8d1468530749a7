"""The hooks of a run that judges a driver; registered only then."""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_dra import interruption
from pytest_dra.cases import case_id_of
from pytest_dra.cases import is_live
from pytest_dra.catalogue import catalogue
from pytest_dra.outcome import Outcome
from pytest_dra.progress import Progress
from pytest_dra.report.figures import Figures
from pytest_dra.report.terminal import marks_of
from pytest_dra.running import INTERRUPTED
from pytest_dra.running import Run
from pytest_dra.running import function_of
from pytest_dra.sessions import Shares

OUTCOME = pytest.StashKey[Outcome]()
"""How the item's case ended."""

BENCH_FIXTURES = frozenset({"dra_bench", "dra_live"})
OBSERVED = "dra_observations"
"""What a worker of xdist hands over at its end."""

FIGURES = "dra_figures"
"""Where xdist's channel carries what a worker has measured."""

SHARES = "dra_shares"
"""Where xdist tells a worker in how many shares the cases are handed out; none if absent."""


class CaseRunner:
    """Lets the session judge what pytest collects, and tells pytest how it went."""

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self._config = config
        self._run = run
        self._is_worker = hasattr(config, "workerinput")
        self._progress = Progress(self._say)
        self._shares_wanted = int(getattr(config, "workerinput", {}).get(SHARES, 0))
        self._shares: Shares = {}
        self._begun: set[int] = set()
        self._has_chosen = False

    def pytest_report_header(self) -> list[str]:
        """What is judged, and where each setting came from."""
        return self._run.header()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Remove what an earlier run has kept of its cases, before a worker keeps anything."""
        if not self._is_worker:
            self._run.begin()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Give each case its marker, its id as a keyword for ``-k``, and a property for JUnit."""
        id = _id(item)
        if id is None:
            return
        item.add_marker(pytest.mark.dra_case(id))
        item.extra_keyword_matches.add(id)
        item.user_properties.append(("dra_case", id))
        names = getattr(item, "fixturenames", [])
        # The session hands the bench over: a bench that breaks is its case's result.
        names[:] = [name for name in names if name not in BENCH_FIXTURES]

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Select by ``--dra-case``, and put what disturbs the driver last.

        Bodies that act elsewhere go before anybody counts them as left out.
        """
        fits = self._run.sessions.has
        items[:] = [item for item in items if _id(item) is None or fits(function_of(item))]
        yield
        chosen, dropped = self._run.arrange([(item, _id(item)) for item in items])
        items[:] = chosen
        self._has_chosen = True
        if dropped:
            config.hook.pytest_deselected(items=dropped)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which cases are to run; under xdist the controller does not know.

        Nor does anybody where collecting was interrupted: pytest hands over what it has then.
        """
        if not self._has_chosen:
            return
        pairs = [(id, function_of(item)) for item in session.items if (id := _id(item))]
        sessions = self._run.sessions
        self._run.recorder.expect((id, sessions.parameter(id, body)) for id, body in pairs)
        sessions.expect(pairs)
        # A worker has the ids of all: what it is not asked for must not be begun.
        if not self._is_worker:
            sessions.expect_apart(pairs)
        elif self._shares_wanted:
            self._shares = sessions.shares(pairs, self._shares_wanted)

    def _expect_share(self, id: str, function: object) -> None:
        """Note what else this worker is to judge, with the first case of a share."""
        share = self._shares.get((id, is_live(function)))
        if share is not None and share not in self._begun:
            self._begun.add(share)
            own = [each for each, number in self._shares.items() if number == share]
            self._run.sessions.expect_share(own)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Wait for a driver that its author starts, rather than in the middle of a line."""
        if not session.testsfailed and not self._config.option.collectonly:
            ids = (id for item in session.items if (id := _id(item)) is not None)
            came = self._run.attach(ids)
            self._progress.total = sum(_id(item) is not None for item in session.items)
            reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
            if came and reporter is not None:
                reporter.write_line(came)

    def _say(self, line: str) -> None:
        """Show a line between the dots; not under ``-q``, nor where nobody reads it (a worker)."""
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and reporter.verbosity >= 0:
            reporter.ensure_newline()
            reporter.write_line(line)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Judge the case in place of calling its function."""
        id = _id(pyfuncitem)
        if id is None:
            return None
        self._expect_share(id, function_of(pyfuncitem))
        with self._progress.judging(id, catalogue().case(id).title):
            outcome = self._run.sessions.judge(id, function_of(pyfuncitem))
        pyfuncitem.stash[OUTCOME] = outcome
        self._run.end_call(outcome)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the case's own words in place of a traceback, and its result onto the report."""
        report = yield
        id = _id(item)
        if id is not None:
            outcome = item.stash.get(OUTCOME, None) if report.when == "call" else None
            self._run.describe(id, function_of(item), outcome, report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect results; under xdist they come from the workers."""
        if not self._is_worker:
            self._run.recorder.add(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Stop the driver, write the report and decide on the exit status."""
        status = int(exitstatus)
        try:
            self._run.close()
        except KeyboardInterrupt:
            self._run.trouble, status = interruption.ENDING, INTERRUPTED
        output: Any = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[OBSERVED] = self._run.observations
            output[FIGURES] = self._run.recorder.figures.to_dict()
        if not self._is_worker and not self._config.option.collectonly:
            with interruption.held_back() as held:
                session.exitstatus = self._run.finish(status)
            if held.came:
                self._run.trouble, session.exitstatus = interruption.WRITING, INTERRUPTED

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist in how many shares the cases come."""
        if self._hands_out_shares:
            from pytest_dra.workers import worker_count

            node.workerinput[SHARES] = worker_count(self._config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Hand the cases out in shares, unless the user has chosen another way."""
        if not self._hands_out_shares:
            return None
        from pytest_dra.workers import ShareScheduling
        from pytest_dra.workers import place_of
        from pytest_dra.workers import place_of_body
        from pytest_dra.workers import worker_count

        sessions, count = self._run.sessions, worker_count(config)

        def divide(nodeids: Sequence[str]) -> dict[str, int]:
            known = {place_of_body(body): (id, body) for id, body in sessions.bodies()}
            found = {each: known[place_of(each)] for each in nodeids if place_of(each) in known}
            shares = sessions.shares(list(found.values()), count)
            return {nodeid: shares[id, is_live(body)] for nodeid, (id, body) in found.items()}

        return ShareScheduling(config, log, divide)

    @property
    def _hands_out_shares(self) -> bool:
        return str(self._config.getoption("dist", "no")) == "load"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker of xdist has seen of its driver, and measured."""
        handed = getattr(node, "workeroutput", {})
        for found in handed.get(OBSERVED, ()):
            self._run.observe(found)
        if FIGURES in handed:
            self._run.recorder.figures += Figures(**handed[FIGURES])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One section: levels and states, verdict, failures, path, command to reproduce."""
        lines = self._run.summary()
        if lines:
            terminalreporter.section("DRA conformance")
            for line in lines:
                terminalreporter.line(line, **marks_of(line))


def _id(item: pytest.Item) -> str | None:
    return case_id_of(function_of(item))
