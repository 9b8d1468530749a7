"""The pytest plugin: options, collection of the packaged cases, verdict at the end.

Imported by every pytest run of the environment, used or not: nothing but pytest and the standard
library is imported at the top of this module.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from pytest_dra.fixtures import dra_bench
from pytest_dra.fixtures import dra_cluster
from pytest_dra.fixtures import dra_driver
from pytest_dra.fixtures import dra_namespace
from pytest_dra.fixtures import dra_session
from pytest_dra.options import OPTIONS
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import resolve

if TYPE_CHECKING:
    from pytest_dra.running import Run

__all__ = ["dra_bench", "dra_cluster", "dra_driver", "dra_namespace", "dra_session"]

CASE_FOLDER = "conformance"
LOCK_FILE = "CASES.lock"
MARKER = "dra_case(id): a conformance case of pytest-dra"

SETTINGS = pytest.StashKey[Settings]()
RUN = pytest.StashKey["Run"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare each option as flag and as ini value; the environment is looked up in ``resolve``."""
    group = parser.getgroup("dra", "conformance of DRA drivers (pytest-dra)")
    for option in OPTIONS:
        text = f"{option.help} [ini {option.dest}, environment {option.variable}]"
        if option.flag:
            group.addoption(
                option.name, dest=option.dest, action="store_const", const="true", help=text
            )
        else:
            metavar = "|".join(option.choices) or option.metavar
            group.addoption(option.name, dest=option.dest, metavar=metavar, help=text)
        parser.addini(option.dest, option.help, default=None)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Decide what is collected: with a driver on the command line and no paths, the cases."""
    settings = _settings(config)
    config.stash[SETTINGS] = settings
    if not settings.active:
        return
    paths_given = _paths_given(config)
    which = settings["dra_suite"]
    if which == "auto":
        if paths_given:
            return
        which = "only" if settings.asked_on_command_line else "with"
    if which == "only":
        config.args = [str(case_directory())]
    elif which == "with":
        config.args = [*config.args, str(case_directory())]


def _paths_given(config: pytest.Config) -> bool:
    return config.args_source is pytest.Config.ArgsSource.ARGS


def _settings(config: pytest.Config) -> Settings:
    directory = config.inipath.parent if config.inipath else None
    try:
        return resolve(
            flag=lambda dest: config.getoption(dest, default=None),
            ini=config.getini,
            ini_directory=directory,
        )
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error


def case_directory() -> Path:
    """The folder of the packaged cases, found without importing it."""
    return Path(__file__).parent / CASE_FOLDER


def pytest_configure(config: pytest.Config) -> None:
    """Check everything that can be checked before a driver is started."""
    config.addinivalue_line("markers", MARKER)
    settings = config.stash.get(SETTINGS, None) or _settings(config)
    config.stash[SETTINGS] = settings
    if not settings.active or settings["dra_suite"] == "off" or config.option.help:
        return
    from pytest_dra.running import Run

    try:
        run = Run.prepare(settings, command_line=config.invocation_params.args)
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error
    run.paths_given = _paths_given(config)
    config.stash[RUN] = run
    config.pluginmanager.register(CaseRunner(config, run), "dra-case-runner")


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what was started, also where pytest was interrupted."""
    run = config.stash.get(RUN, None)
    if run is not None:
        run.close()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the case modules alone without a driver, and never collect them through a link."""
    if collection_path.name != CASE_FOLDER or not (collection_path / LOCK_FILE).exists():
        return None
    if RUN not in config.stash:
        return True
    canonical = case_directory()
    if collection_path != canonical and collection_path.is_symlink():
        return True
    return None


class CaseRunner:
    """The hooks of a run that judges a driver; registered only then."""

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self._config = config
        self.run = run
        self._is_worker = hasattr(config, "workerinput")

    def pytest_report_header(self) -> list[str]:
        """What is judged, and where each setting came from."""
        return self.run.header()

    @pytest.hookimpl
    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Give each case its marker, its id as a keyword for ``-k``, and a property for JUnit."""
        id = self._id(item)
        if id is not None:
            item.add_marker(pytest.mark.dra_case(id))
            item.extra_keyword_matches.add(id)
            item.user_properties.append(("dra_case", id))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Select by ``--dra-case``, and put what disturbs the driver last."""
        chosen, dropped = self.run.arrange([(item, self._id(item)) for item in items])
        items[:] = chosen
        if dropped:
            config.hook.pytest_deselected(items=dropped)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note whether the suite was to run at all."""
        self.run.recorder.collected(self._id(item) for item in session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Judge the case in place of calling its function."""
        id = self._id(pyfuncitem)
        if id is None:
            return None
        self.run.judge_for(pyfuncitem, id)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the case's own words in place of a traceback, and its result onto the report."""
        report = yield
        id = self._id(item)
        if id is not None:
            self.run.describe(item, id, call, report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect results; under xdist they come from the workers."""
        if not self._is_worker:
            self.run.recorder.add(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Stop the driver, write the report and decide on the exit status."""
        self.run.close()
        if self._is_worker or self._config.option.collectonly:
            return
        session.exitstatus = self.run.finish(int(exitstatus))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One section: levels and states, verdict, failures, path, command to reproduce."""
        lines = self.run.summary()
        if lines:
            terminalreporter.section("DRA conformance")
            for line in lines:
                terminalreporter.line(line)

    def _id(self, item: pytest.Item) -> str | None:
        function = getattr(item, "function", None)
        found = getattr(function, "dra_case_id", None)
        return found if isinstance(found, str) else None
