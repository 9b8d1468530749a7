"""How the run of a case ended: its result, and what is kept of it."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.report.results import blocked_by
from pytest_dra.report.results import failed
from pytest_dra.report.results import not_run
from pytest_dra.report.results import unsupported
from pytest_dra.spec import Blocked
from pytest_dra.spec import Case
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.timeline import Entry


class BenchError(Exception):
    """The bench cannot be made, which was told at length before; never the driver's fault."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """A result, the exception behind it if there was one (for pytest's traceback), and its site.

    ``traffic`` is what the timeline has of the case, and ``log`` the end of the driver's output
    when it had ended: both are empty for a case that was decided without running.
    ``lapse`` is what is wrong where the case that blocks this one has passed.
    ``cluster_logs`` are the ends of the output of the cluster's own programs, by name.
    """

    result: CaseResult
    error: BaseException | None = None
    traffic: tuple[Entry[Any], ...] = ()
    log: str = ""
    lapse: Blocked | None = None
    cluster_logs: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def because(self, error: BaseException | None) -> Outcome:
        """The same with what has ended the case, as :func:`ended` gives it."""
        if isinstance(error, Blocked):
            return dataclasses.replace(self, lapse=error)
        return dataclasses.replace(self, error=error)

    def failing(self, finding: Violation) -> Outcome:
        """The same for a case that fails by a finding after all."""
        before = self.result
        result = failed(before.case, finding)
        result = dataclasses.replace(result, duration_s=before.duration_s, notes=before.notes)
        return dataclasses.replace(self, result=result, error=finding)

    def provisional(self) -> Outcome:
        """The same for a case that is judged and not counted."""
        return dataclasses.replace(self, result=dataclasses.replace(self.result, provisional=True))


def ended(
    case: Case,
    act: Callable[[], None],
    *,
    blamed: Callable[[Violation], CaseResult] | None = None,
) -> tuple[CaseResult, BaseException | None]:
    """Run a case to its end.

    Args:
        case: the case.
        act: what it does.
        blamed: the result of a violation, where more is known of it than it says.
    """
    try:
        act()
    except Violation as violation:
        result = failed(case, violation) if blamed is None else blamed(violation)
        return result, violation
    except Blocked as blocked:
        return not_run(case, blocked_by([blocked.by])), blocked
    except NotApplicable as reason:
        return CaseResult(case=case, state=State.NOT_APPLICABLE, reason=str(reason)), None
    except UnsupportedEnvironment as reason:
        return unsupported(case, reason), None
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        return CaseResult(case=case, state=State.ERRORED, error=text), error
    return CaseResult(case=case, state=State.PASSED), None
