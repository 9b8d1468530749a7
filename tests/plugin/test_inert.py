"""Without a driver the plugin is as good as not there."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import ROOT
from tests.plugin.conftest import Runs
from tests.plugin.conftest import text_of

HEAVY = "kubernetes grpc aiohttp yaml jsonschema google.protobuf pytest_dra.session"

SPY = f"""
import sys

def pytest_unconfigure():
    print("heavy:", [name for name in {HEAVY.split()!r} if name in sys.modules])
"""


@pytest.fixture
def spied(runs: Runs) -> Runs:
    runs.pytester.makepyfile(spy=SPY, test_own="def test_own(): pass")
    return runs


@pytest.mark.parametrize("argument", ["-q", "--co", "--help", "--fixtures", "--markers"])
def test_nothing_heavy_is_imported_without_a_driver(spied: Runs, argument: str) -> None:
    done = spied.executed("-p", "spy", argument)
    done.stdout.fnmatch_lines(["heavy: []"])
    assert done.ret == 0


def test_nothing_heavy_is_imported_where_the_suite_is_off(spied: Runs) -> None:
    done = spied.executed("-p", "spy", "--dra-driver=fake", "--dra-suite=off")
    done.stdout.fnmatch_lines(["heavy: []"])
    done.assert_outcomes(passed=1)


def test_without_a_driver_no_case_is_collected_and_nothing_is_said_or_written(runs: Runs) -> None:
    runs.pytester.makepyfile("def test_own(): pass")
    before = set(runs.folder.iterdir())
    done = runs.inside()
    done.assert_outcomes(passed=1)
    done.stdout.no_fnmatch_line("*dra:*")
    assert {each.name for each in set(runs.folder.iterdir()) - before} <= {
        "__pycache__",
        ".pytest_cache",
    }


def test_an_empty_folder_without_a_driver_has_no_tests(runs: Runs) -> None:
    assert runs.inside().ret is pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_repository_root_collects_its_own_tests_once_and_no_case(runs: Runs) -> None:
    done = runs.executed(
        f"--rootdir={ROOT}", f"--confcutdir={ROOT}", "-c", f"{ROOT}/pyproject.toml",
        "-p", "no:cacheprovider", "--co", "-q", str(ROOT), f"--ignore={ROOT}/tests/plugin",
        f"--ignore={ROOT}/tests/embedded", f"--ignore={ROOT}/tests/upstream",
    )  # fmt: skip
    ids = [line for line in done.outlines if "::" in line]
    assert ids
    assert all(id.startswith("tests/") for id in ids)
    assert len(ids) == len(set(ids))
    assert "test_reg_001" not in text_of(done)


def test_the_repository_root_with_a_driver_collects_each_case_once(runs: Runs) -> None:
    done = runs.executed(
        f"--rootdir={ROOT}", f"--confcutdir={ROOT}", "-c", f"{ROOT}/pyproject.toml",
        "-p", "no:cacheprovider", "--co", "-q", "--dra-driver=fake", str(ROOT),
        f"--ignore={ROOT}/tests",
    )  # fmt: skip
    ids = [line for line in done.outlines if "::" in line]
    assert len(ids) == len({id.rpartition("::")[2] for id in ids})
    assert [id for id in ids if id.endswith("::test_reg_001_socket")]


@pytest.mark.parametrize(
    "path",
    [
        str(ROOT / "conformance"),
        str(ROOT / "pytest_dra" / "conformance" / "test_cdi.py"),
        str(ROOT / "conformance" / "test_cdi.py") + "::test_cdi_001_files",
        "--pyargs",
    ],
)
def test_cases_named_by_path_need_a_driver(runs: Runs, path: str) -> None:
    more = ["pytest_dra.conformance"] if path == "--pyargs" else []
    done = runs.inside(path, *more)
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: *: the cases need a driver to judge; add --dra-driver=*"])


@pytest.mark.parametrize(
    "argument", ["--dra-suite=only", "--dra-suite=with", "--dra-case=PREP-006"]
)
def test_options_that_ask_for_the_cases_need_a_driver(runs: Runs, argument: str) -> None:
    runs.pytester.makepyfile("def test_own(): pass")
    done = runs.inside(argument)
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: {argument}: no driver is named; add --dra-driver=*"])


def test_an_ini_file_may_choose_cases_for_whoever_names_a_driver(runs: Runs) -> None:
    runs.pytester.makeini("[pytest]\ndra_case = PREP-006\ndra_suite = only\n")
    runs.pytester.makepyfile("def test_own(): pass")
    runs.inside().assert_outcomes(passed=1)


def test_help_names_each_option_in_all_its_spellings(runs: Runs) -> None:
    done = runs.inside("--help")
    text = " ".join(text_of(done).split())
    assert "--dra-driver=fake|exec:COMMAND|attach|IMAGE" in text
    assert "[ini dra_require, environment PYTEST_DRA_REQUIRE]" in text
