"""A pytest plugin under which cases end as a script says, without any driver.

``-p tests.plugin.scripted``; the script is JSON in the environment: states by case id, ``*`` for
all others. What is tested with it is everything between pytest and the session.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from pytest_dra.cases import Declared
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.report.results import failed
from pytest_dra.session import Session
from pytest_dra.site import Site
from pytest_dra.spec import Violation

VARIABLE = "DRA_TEST_SCRIPT"
WHERE = "claim 'a'"

WARNED = "warned"
"""A case that passes and remarks something."""


def _run(
    _: Site, what: Declared, serial: int, *, works: bool
) -> tuple[CaseResult, BaseException | None]:
    del serial, works
    case = what.case
    script: dict[str, str] = json.loads(os.environ.get(VARIABLE, "{}"))
    state = script.get(case.id, script.get("*", "passed"))
    if state == "interrupt":
        raise KeyboardInterrupt
    if state == State.FAILED.value:
        violation = Violation(WHERE, got="\x1b[31m<&>", want="an entry", source="proto: x")
        return failed(case, violation, excerpt=["+0.1 s #1 a call"]), violation
    if state == State.ERRORED.value:
        error = RuntimeError("the suite broke")
        return CaseResult(case=case, state=State.ERRORED, error=repr(error)), error
    if state == WARNED:
        return CaseResult(case=case, state=State.PASSED, notes=(f"{case.id} is slow",)), None
    reason = "" if state == State.PASSED.value else "a reason"
    return CaseResult(case=case, state=State(state), reason=reason), None


def pytest_load_initial_conftests(early_config: Any) -> None:
    """Put the script in the place of the bench for the time of this run."""
    patch = pytest.MonkeyPatch()
    patch.setattr(Site, "_run", _run)
    patch.setattr(Session, "_shows", lambda session, case: False)
    early_config.add_cleanup(patch.undo)
