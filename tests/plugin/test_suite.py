"""``--dra-suite``: the packaged cases, the user's own tests, or both."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import resolve
from pytest_dra.suite import case_directory
from pytest_dra.suite import collection_of
from tests.plugin.conftest import EVERY
from tests.plugin.conftest import ROOT
from tests.plugin.conftest import RUN_LIMIT_S
from tests.plugin.conftest import Runs

CASES = str(case_directory())
OWN = "tests"
SELECTION = ("--dra-case=PREP-001,PREP-006", "--dra-require=partial")


def settings(where: str, suite: str) -> Settings:
    """Settings with a driver from flag, environment, ini file or nowhere."""
    flags = {"dra_suite": suite, **({"dra_driver": "fake"} if where == "flag" else {})}
    return resolve(
        flag=flags.get,
        ini=lambda dest: "fake" if (where, dest) == ("ini", "dra_driver") else None,
        environ={"PYTEST_DRA_DRIVER": "fake"} if where == "environment" else {},
    )


@pytest.mark.parametrize(
    ("where", "suite", "given", "paths", "asked"),
    [
        ("nowhere", "auto", False, [OWN], False),
        ("nowhere", "auto", True, [OWN], False),
        ("flag", "auto", False, [CASES], True),
        ("flag", "auto", True, [OWN], False),
        ("environment", "auto", False, [OWN, CASES], True),
        ("environment", "auto", True, [OWN], False),
        ("ini", "auto", False, [OWN, CASES], True),
        ("ini", "auto", True, [OWN], False),
        *[
            (where, suite, given, paths, asked)
            for where in ("flag", "environment", "ini")
            for given in (False, True)
            for suite, paths, asked in [
                ("only", [CASES], True),
                ("with", [OWN, CASES], True),
                ("off", [OWN], False),
            ]
        ],
    ],
)
def test_what_is_collected(
    where: str, suite: str, *, given: bool, paths: list[str], asked: bool
) -> None:
    found = collection_of(settings(where, suite), [OWN], given=given)
    assert (list(found.paths), found.asked) == (paths, asked)


def test_a_profile_on_the_command_line_asks_like_a_driver() -> None:
    found = resolve(flag={"dra_profile": "x.yaml"}.get, ini=lambda _: None, environ={})
    assert collection_of(found, ["."], given=False).paths == (CASES,)


def test_an_emptied_driver_on_the_command_line_judges_nothing() -> None:
    found = resolve(
        flag={"dra_driver": ""}.get, ini=lambda _: None, environ={"PYTEST_DRA_DRIVER": "fake"}
    )
    assert not found.active
    assert collection_of(found, ["."], given=False).paths == (".",)


def test_cases_cannot_be_named_where_the_suite_is_off() -> None:
    with pytest.raises(OptionError, match="the cases need a driver to judge"):
        collection_of(settings("flag", "off"), [f"{CASES}/test_cdi.py"], given=True)


@pytest.fixture
def own(runs: Runs) -> Runs:
    runs.pytester.makepyfile(test_own="def test_own(): pass", test_prepare="def test_p(): pass")
    return runs


def test_a_driver_on_the_command_line_runs_the_cases_alone(own: Runs) -> None:
    own.judge(*SELECTION).assert_outcomes(passed=2, deselected=EVERY - 2)


def test_a_driver_in_the_environment_runs_them_beside_the_users_tests(own: Runs) -> None:
    own.environment(PYTEST_DRA_DRIVER="fake")
    own.inside(*SELECTION).assert_outcomes(passed=4, deselected=EVERY - 2)


def test_a_driver_in_the_ini_file_runs_them_beside_the_users_tests(own: Runs) -> None:
    own.pytester.makeini("[pytest]\ndra_driver = fake\n")
    own.inside(*SELECTION).assert_outcomes(passed=4, deselected=EVERY - 2)


def test_paths_are_taken_alone_and_leave_no_report(own: Runs) -> None:
    done = own.judge("test_own.py")
    done.assert_outcomes(passed=1)
    assert done.ret is pytest.ExitCode.OK
    done.stdout.fnmatch_lines(["dra: judging fake*only the paths given"])
    assert not (own.folder / "dra-results").exists()


def test_the_cases_can_be_a_path_too(own: Runs) -> None:
    done = own.judge("--pyargs", "pytest_dra.conformance", *SELECTION)
    done.assert_outcomes(passed=2, deselected=EVERY - 2)
    assert own.states()["PREP-006"] == "passed"


def test_testpaths_of_the_user_do_not_hide_the_cases(own: Runs) -> None:
    own.pytester.makeini("[pytest]\ntestpaths = test_own.py\n")
    own.judge(*SELECTION).assert_outcomes(passed=2, deselected=EVERY - 2)
    own.judge("--dra-suite=with", *SELECTION).assert_outcomes(passed=3, deselected=EVERY - 2)


def test_an_empty_folder_is_enough(runs: Runs) -> None:
    done = runs.judge()
    done.assert_outcomes(passed=EVERY)
    assert done.ret is pytest.ExitCode.OK


def test_strict_configuration_of_the_user_is_no_hindrance(own: Runs) -> None:
    (own.folder / "pytest.toml").write_text("[pytest]\nstrict = true\ndra_strict = true\n")
    if pytest.version_tuple < (9, 0):
        pytest.skip("strict came with pytest 9")
    done = own.executed(
        "-p",
        "tests.plugin.scripted",
        "-W",
        "error",
        "--dra-driver=fake",
        "--dra-suite=with",
        *SELECTION,
    )
    done.assert_outcomes(passed=4, deselected=EVERY - 2)
    done.stdout.fnmatch_lines(["*strict=true (ini)*"])


def test_fixtures_of_the_user_that_apply_to_all_tests_apply_to_cases(own: Runs) -> None:
    own.pytester.makeconftest("""
        import pytest

        @pytest.fixture(autouse=True, scope="session")
        def broken():
            raise RuntimeError("no licence server")
    """)
    done = own.judge(*SELECTION)
    done.assert_outcomes(errors=2, deselected=EVERY - 2)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    assert own.states()["PREP-006"] == "errored"
    assert "no licence server" in own.cases()["PREP-006"]["error"]
    assert own.report()["verdict"] == "inconclusive"


def test_a_case_that_the_user_skips_is_deselected_with_the_users_reason(own: Runs) -> None:
    own.pytester.makeconftest("""
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                if item.get_closest_marker("dra_case").args == ("PREP-006",):
                    item.add_marker(pytest.mark.skip(reason="not today"))
    """)
    own.judge(*SELECTION).assert_outcomes(passed=1, skipped=1, deselected=EVERY - 2)
    assert own.cases()["PREP-006"]["reason"] == "deselected: not today"


def test_a_virtual_environment_inside_the_folder_does_not_hide_the_cases(own: Runs) -> None:
    folder = own.folder / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    where = {Path(entry) for entry in sys.path if entry.endswith("site-packages")}
    (packages / "outer.pth").write_text("".join(f"{each}\n" for each in where))
    target = packages / "pytest_dra"
    subprocess.run(
        ["cp", "-rL", str(ROOT / "pytest_dra"), str(target)],  # noqa: S607 - POSIX
        check=True,
        timeout=RUN_LIMIT_S,
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for arguments, cases in [(["--dra-driver=fake"], EVERY), ([], 0)]:
        done = subprocess.run(
            [str(folder / "bin" / "python"), "-m", "pytest", "--co", "-q", *arguments],
            cwd=own.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_LIMIT_S,
        )
        assert done.stdout.count("::test_") == cases + (0 if cases else 2), done.stdout
        if cases:
            assert "venv/lib" in done.stdout
