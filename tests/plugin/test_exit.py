"""Exit statuses and what pytest shows for each state, with and without xdist."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import EVERY
from tests.plugin.conftest import Runs
from tests.plugin.conftest import text_of

PARTIAL = "--dra-require=partial"
SOME = "--dra-case=PREP-001,PREP-006,REG-005"
"""Two MUST and a SHOULD."""


def outcome(done: pytest.RunResult, **counts: int) -> None:
    """Check outcomes but for deselected ones, of which xdist's controller knows nothing."""
    found = done.parseoutcomes()
    found.pop("deselected", None)
    found.pop("warnings", None)
    assert found == counts


def test_all_passed(runs: Runs) -> None:
    done = runs.judge()
    outcome(done, passed=EVERY)
    assert done.ret is pytest.ExitCode.OK
    done.stdout.fnmatch_lines(["verdict: conformant (NODE-CORE at wire depth on Kubernetes 1.37)*"])
    done.stdout.no_fnmatch_line("exit status*")


def test_a_selection_is_partial_and_one_line_says_what_accepts_that(
    runs: Runs,
) -> None:
    done = runs.judge(SOME)
    outcome(done, passed=3)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        [
            "verdict: partial *",
            "exit status 1: --dra-require=conformant asks for more than partial; "
            "--dra-require=partial accepts it",
        ]
    )
    done = runs.judge(SOME, PARTIAL)
    assert done.ret is pytest.ExitCode.OK
    done.stdout.no_fnmatch_line("exit status*")


def test_a_failed_must(runs: Runs) -> None:
    runs.script(PREP_006="failed")
    done = runs.judge(SOME, PARTIAL)
    outcome(done, passed=2, failed=1)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    assert runs.report()["verdict"] == "non-conformant"
    done.stdout.fnmatch_lines(
        [
            "PREP-006 MUST results of other drivers in a claim are ignored",
            "claim 'a'",
            "  got:  *",
            "  want: an entry",
            "  from: proto: x",
            "*#1 a call",
        ]
    )
    done.stdout.no_fnmatch_line("*running.py*")


def test_a_failed_should(runs: Runs) -> None:
    runs.script(REG_005="failed")
    done = runs.judge()
    outcome(done, passed=EVERY - 1, xfailed=1)
    assert done.ret is pytest.ExitCode.OK
    assert runs.states()["REG-005"] == "failed"
    assert runs.report()["verdict"] == "conformant"

    done = runs.judge("--dra-strict")
    outcome(done, passed=EVERY - 1, failed=1)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    assert runs.report()["verdict"] == "conformant"


def test_an_errored_case_is_never_the_drivers(runs: Runs) -> None:
    runs.script(PREP_006="errored", REG_005="errored")
    done = runs.judge(SOME, PARTIAL)
    outcome(done, passed=1, failed=2)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    assert runs.report()["verdict"] == "inconclusive"
    assert runs.states()["REG-005"] == "errored"
    done.stdout.fnmatch_lines(["PREP-006 MUST errored, which is not the driver's fault"])


@pytest.mark.parametrize("state", ["waived", "unsupported-environment"])
def test_a_case_that_was_not_judged_is_skipped_with_its_reason(runs: Runs, state: str) -> None:
    runs.script(PREP_006=state)
    done = runs.judge("-rs")
    outcome(done, passed=EVERY - 1, skipped=1)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    assert runs.report()["verdict"] == "partial"
    assert f"{state}: a reason" in text_of(done)


def test_a_case_that_does_not_apply_is_no_skip(runs: Runs) -> None:
    runs.script(PREP_006="not-applicable")
    done = runs.judge()
    outcome(done, passed=EVERY)
    assert done.ret is pytest.ExitCode.OK
    assert runs.cases()["PREP-006"]["reason"] == "a reason"


@pytest.mark.parametrize(
    "arguments",
    [("--dra-case=REG-005",), ("-k", "no_such_name"), ("-k", "REG-005", "--dra-strict")],
    ids=["should-only", "no-match", "strict"],
)
def test_no_must_ran(runs: Runs, arguments: tuple[str, ...]) -> None:
    done = runs.judge(PARTIAL, *arguments)
    assert done.ret is pytest.ExitCode.NO_TESTS_COLLECTED
    done.stdout.fnmatch_lines(["exit status 5: no MUST case ran"])
    assert runs.report()["verdict"] == "inconclusive"


def test_musts_that_do_not_apply_are_no_musts_that_ran(runs: Runs) -> None:
    runs.script(rest="not-applicable")
    assert runs.judge(PARTIAL).ret is pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_failing_test_of_the_user_fails_the_run(runs: Runs) -> None:
    runs.pytester.makepyfile("def test_own(): assert False")
    done = runs.judge("--dra-suite=with")
    outcome(done, passed=EVERY, failed=1)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    assert runs.report()["verdict"] == "conformant"


def test_a_module_of_the_user_that_cannot_be_imported_fails_the_run(runs: Runs) -> None:
    runs.pytester.makepyfile("import no_such_module")
    done = runs.judge("--dra-suite=with", "--continue-on-collection-errors")
    outcome(done, passed=EVERY, errors=1)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    done = runs.judge("--dra-suite=with")
    assert done.ret is pytest.ExitCode.INTERRUPTED
    assert set(runs.states().values()) == {"not-run"}


def test_the_users_tests_alone_keep_their_status(runs: Runs) -> None:
    runs.pytester.makepyfile("def test_own(): pass")
    runs.environment(PYTEST_DRA_DRIVER="fake")
    assert runs.inside("--dra-suite=off").ret is pytest.ExitCode.OK
    name = "test_the_users_tests_alone_keep_their_status.py"
    assert runs.inside(name).ret is pytest.ExitCode.OK
    assert runs.inside("--co").ret is pytest.ExitCode.OK


def test_an_interruption_keeps_what_is_known(runs: Runs) -> None:
    runs.script(PREP_006="interrupt")
    done = runs.apart("--dra-driver=fake", SOME, PARTIAL)
    assert done.ret is pytest.ExitCode.INTERRUPTED
    cases = runs.cases()
    assert cases["PREP-001"]["state"] == "passed"
    assert cases["PREP-006"]["reason"] == "deselected: the run ended before it"
    assert cases["PREP-007"]["reason"] == "deselected"


def test_setup_plan_judges_nothing(runs: Runs) -> None:
    assert runs.judge("--setup-plan").ret is pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_suite_is_quiet_where_the_terminal_is_off(runs: Runs) -> None:
    done = runs.apart("--dra-driver=fake", "-p", "no:terminal")
    assert done.ret == 0
    assert runs.report()["verdict"] == "conformant"


@pytest.mark.parametrize(
    ("script", "arguments", "status"),
    [
        ({}, (SOME,), 1),
        ({}, (SOME, PARTIAL), 0),
        ({"REG_005": "failed"}, ("--dra-strict",), 1),
        ({"REG_005": "errored"}, (SOME, PARTIAL), 1),
        ({}, ("--dra-case=REG-005", PARTIAL), 5),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, (tuple, dict)) else None,
)
def test_workers_of_xdist_change_no_status_and_no_state(
    runs: Runs, script: dict[str, str], arguments: tuple[str, ...], status: int
) -> None:
    runs.script(**script)
    runs.pytester.makepyfile(test_own="def test_own(): pass")
    alone = runs.judge("--dra-output=alone", *arguments)
    done = runs.apart("--dra-driver=fake", "-n", "2", *arguments)
    assert (int(alone.ret), int(done.ret)) == (status, status)
    if (runs.folder / "alone").exists():
        assert runs.states() == runs.states("alone")


def test_what_an_interrupted_case_needs_is_in_the_report_though_its_turn_had_not_come(
    runs: Runs,
) -> None:
    runs.script(PREP_023="interrupt")
    done = runs.apart("--dra-driver=fake", "--dra-case=PREP-023,REG-001,REG-016", PARTIAL)
    assert done.ret == pytest.ExitCode.INTERRUPTED
    states = runs.states()
    assert (states["PREP-023"], states["REG-016"]) == ("not-run", "not-run")
    assert states["REG-001"] == "passed"
