"""The pytest plugin: options, what is collected, and the start of a run that judges a driver.

Imported by every pytest run of the environment, used or not: nothing but pytest and the standard
library is imported at the top of this module. The hooks of a run that judges are in ``runner``.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from pytest_dra import hookspecs
from pytest_dra.attaching import check_alone
from pytest_dra.attaching import teller
from pytest_dra.fixtures import MEETING
from pytest_dra.fixtures import dra_allocator
from pytest_dra.fixtures import dra_bench
from pytest_dra.fixtures import dra_claim
from pytest_dra.fixtures import dra_cluster
from pytest_dra.fixtures import dra_driver
from pytest_dra.fixtures import dra_existing_cluster
from pytest_dra.fixtures import dra_live
from pytest_dra.fixtures import dra_namespace
from pytest_dra.fixtures import dra_node
from pytest_dra.fixtures import dra_pod
from pytest_dra.fixtures import dra_select
from pytest_dra.fixtures import dra_session
from pytest_dra.fixtures import join
from pytest_dra.fixtures import session_of
from pytest_dra.options import OPTIONS
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import check_driver_is_named
from pytest_dra.options import check_platform
from pytest_dra.options import resolve
from pytest_dra.refusals import check_cluster
from pytest_dra.refusals import check_later_features
from pytest_dra.refusals import is_whole
from pytest_dra.stash import ASKED
from pytest_dra.stash import ENDING
from pytest_dra.stash import OBJECTS
from pytest_dra.stash import OFFER
from pytest_dra.stash import RUN
from pytest_dra.stash import SETTINGS
from pytest_dra.suite import collection_of
from pytest_dra.suite import is_case_directory
from pytest_dra.suite import is_the_packaged
from pytest_dra.suite import objects_collected

if TYPE_CHECKING:
    from pytest_dra.running import Run
    from pytest_dra.session import Session

__all__ = [
    "dra_allocator",
    "dra_bench",
    "dra_claim",
    "dra_cluster",
    "dra_driver",
    "dra_existing_cluster",
    "dra_live",
    "dra_namespace",
    "dra_node",
    "dra_pod",
    "dra_select",
    "dra_session",
]

MARKER = "dra_case(id): a conformance case of pytest-dra"


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let plugins and conftests stand for the profile's hooks."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare each option as flag and as ini value; the environment is looked up in ``resolve``."""
    group = parser.getgroup("dra", "conformance of DRA drivers (pytest-dra)")
    for option in OPTIONS:
        text = f"{option.help} [ini {option.dest}, environment {option.variable}]"
        if option.flag:
            group.addoption(
                option.name, dest=option.dest, action="store_const", const="true", help=text
            )
            parser.addini(option.dest, option.help, type="bool", default=None)
        else:
            metavar = "|".join(option.choices) or option.metavar
            group.addoption(option.name, dest=option.dest, metavar=metavar, help=text)
            parser.addini(option.dest, option.help, default=None)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Decide what is collected, before pytest does; each of xdist's workers does so again.

    ``--dra-init``, ``--dra-dry-run`` and ``--dra-cleanup`` run no tests at all.
    """
    given = config.args_source is pytest.Config.ArgsSource.ARGS
    try:
        settings = _settings(config)
        status = None if config.option.help else _instead(config, settings)
        if status is not None:
            return status
        if settings["dra_objects"]:
            config.args = objects_collected(settings, config.args, given=given)
            return None
        check_driver_is_named(settings)
        collection = collection_of(settings, config.args, given=given)
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error
    config.args = list(collection.paths)
    config.stash[ASKED] = collection.asked
    return None


def _instead(config: pytest.Config, settings: Settings) -> int | None:
    """Do what is done instead of a run of tests; None if there is no such thing."""
    if settings["dra_cleanup"] == "true":
        check_platform()
        check_cluster(settings)
        from pytest_dra.cleaning import clean

        return clean(settings)
    if settings["dra_dry_run"] == "true":
        check_driver_is_named(settings)
        check_platform()
        check_later_features(settings)
        from pytest_dra.dryrun import list_run

        return list_run(settings)
    return _init(config, settings) if settings["dra_init"] == "true" else None


def _init(config: pytest.Config, settings: Settings) -> int:
    check_platform()
    check_later_features(settings)
    from pytest_dra.initial import write_profile

    return write_profile(settings, tell=teller(config, Path(settings["dra_output"]).absolute()))


def _settings(config: pytest.Config) -> Settings:
    if SETTINGS not in config.stash:
        config.stash[SETTINGS] = resolve(
            flag=lambda dest: config.getoption(dest, default=None),
            ini=config.getini,
            ini_directory=config.inipath.parent if config.inipath else None,
        )
    return config.stash[SETTINGS]


def pytest_configure(config: pytest.Config) -> None:
    """Check everything that can be checked before a driver is started."""
    config.addinivalue_line("markers", MARKER)
    try:
        settings = _settings(config)
        runs = settings["dra_suite"] != "off" and not config.option.help
        if runs and settings["dra_objects"]:
            _begin_objects(config, settings)
        elif runs and settings.active:
            # First what needs no import: elsewhere than on Linux not all modules can be imported.
            check_platform()
            check_later_features(settings)
            check_alone(settings, config)
            _begin(config, settings)
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error


def _begin(config: pytest.Config, settings: Settings) -> None:
    from pytest_dra.runner import CaseRunner
    from pytest_dra.running import Run

    asked = config.stash.get(ASKED, False)
    tell = teller(config, Path(settings["dra_output"]).absolute())
    run = Run.prepare(
        settings,
        asked=asked,
        judges=not config.option.collectonly,
        tell=tell,
        calls=hookspecs.implemented(config),
    )
    config.stash[RUN] = run
    join(config, run.session)
    config.pluginmanager.register(CaseRunner(config, run), "dra-case-runner")


def _begin_objects(config: pytest.Config, settings: Settings) -> None:
    check_platform()
    from pytest_dra.objectcases import begin
    from pytest_dra.objectrun import ObjectRun

    begin(config, ObjectRun.prepare(settings, judges=not config.option.collectonly))
    config.stash[OBJECTS] = True


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Offer one whole cluster to all workers of xdist."""
    config = node.config
    if config.stash[SETTINGS]["dra_suite"] == "off" or not is_whole(
        config.stash[SETTINGS]["dra_cluster"]
    ):
        return
    if OFFER not in config.stash:
        from pytest_dra.offering import Offer

        run: Run | None = config.stash.get(RUN, None)
        ending = config.stash.setdefault(ENDING, ExitStack())

        def session() -> Session:
            return run.session if run is not None else ending.enter_context(session_of(config))

        config.stash[OFFER] = Offer(session)
        ending.callback(config.stash[OFFER].close)
    node.workerinput[MEETING] = str(config.stash[OFFER].meeting.folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what was started, also where pytest was interrupted."""
    config.stash.get(ENDING, ExitStack()).close()
    run = config.stash.get(RUN, None)
    if run is not None:
        run.close()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the cases alone without a driver, and never collect a second copy of them."""
    if not is_case_directory(collection_path):
        return None
    judges = RUN in config.stash or OBJECTS in config.stash
    return None if judges and is_the_packaged(collection_path) else True
