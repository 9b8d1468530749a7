"""What came out: of one case, and of one run. Every writer reads these and nothing else."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from types import MappingProxyType

from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Waiver
from pytest_dra.report.figures import NONE
from pytest_dra.report.figures import Figures
from pytest_dra.report.nodes import NodeResult
from pytest_dra.report.plain import LINE_LIMIT
from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import plain
from pytest_dra.report.plain import shown
from pytest_dra.report.steps import STEPS_LIMIT
from pytest_dra.report.steps import Step
from pytest_dra.spec import Case
from pytest_dra.spec import Depth
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

EXCERPT_LINES = 40
"""Lines of the timeline that a failed case shows."""

NOTES_LIMIT = 20
"""Remarks of a case: a case that has more to say should be two."""

ERROR_LIMIT = 8192
"""Characters of an errored case's traceback: its end says what happened."""

DESELECTED = "deselected"
ENDED_BEFORE = "deselected: the run ended before it"
"""The reason of a case that an interruption, ``-x`` or a lost xdist worker has left over."""

AT_CLUSTER = Depth.CLUSTER.value
"""Parameter of a result on a whole cluster, where the run judges the case at wire depth, too."""

BLOCKED = "blocked by "
INPUT_MISSING = "input missing: "


class State(str, enum.Enum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    """The driver broke the rule."""
    ERRORED = "errored"
    """The suite or its environment broke; never the driver's fault."""
    NOT_APPLICABLE = "not-applicable"
    """The case does not concern this driver, or not on this Kubernetes version."""
    WAIVED = "waived"
    """The profile declares an exception with reason, link and expiry."""
    UNSUPPORTED_ENVIRONMENT = "unsupported-environment"
    """This bench cannot judge it."""
    NOT_RUN = "not-run"
    """Deselected, blocked by another case, or without an input that it needs."""


WITH_REASON = frozenset(
    {State.NOT_APPLICABLE, State.WAIVED, State.UNSUPPORTED_ENVIRONMENT, State.NOT_RUN}
)
"""States that say nothing without a reason."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a failed case says: a :class:`~pytest_dra.spec.Violation` as text."""

    where: str
    got: str
    want: str
    source: str

    @classmethod
    def of(cls, violation: Violation, case: Case) -> Finding:
        """The texts of a violation; the case's own sources where it names none."""
        return cls(
            where=violation.where,
            got=shown(violation.got),
            want=violation.want,
            source=violation.source or "; ".join(str(each) for each in case.sources),
        )

    def __post_init__(self) -> None:
        # A name of the driver's may stand in it: no line ends.
        object.__setattr__(self, "where", one_line(self.where))
        for field in ("got", "want", "source"):
            object.__setattr__(self, field, plain(getattr(self, field)))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """How one case ended. All texts are printable and bounded, whatever was passed in.

    Attributes:
        case: what was judged.
        state: how it ended.
        reason: why it did not run, does not apply, is waived or cannot be judged here.
        remedy: the option or profile field that would run it; empty: told from the reason.
        provisional: its feature was seen but not declared; listed and not counted.
        finding: of a failed case alone.
        error: of an errored case, the end of the traceback.
        excerpt: lines of the timeline that prove it.
        steps: what happened round it, as a sequence.
        notes: remarks that change no state, such as a slow call.
        duration_s: seconds.
        parameter: what tells several results of one case apart; mostly empty.

    Raises:
        ValueError: a failed case without finding, or one that was not judged without reason.
    """

    case: Case
    state: State
    reason: str = ""
    remedy: str = ""
    provisional: bool = False
    finding: Finding | None = None
    error: str = ""
    excerpt: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    duration_s: float = 0.0
    parameter: str = ""

    def __post_init__(self) -> None:
        if (self.state is State.FAILED) != (self.finding is not None):
            raise ValueError(f"{self.case.id} is {self.state.value}; a finding is of failed ones")
        if self.state in WITH_REASON and not self.reason.strip():
            raise ValueError(f"{self.case.id} is {self.state.value} without a reason")
        put = object.__setattr__
        for field in ("reason", "remedy", "parameter"):
            put(self, field, one_line(getattr(self, field)))
        put(self, "error", plain(self.error[-ERROR_LIMIT:], ERROR_LIMIT))
        put(
            self, "excerpt", tuple(plain(each, LINE_LIMIT) for each in self.excerpt[:EXCERPT_LINES])
        )
        put(self, "steps", self.steps[:STEPS_LIMIT])
        put(self, "notes", tuple(one_line(each) for each in self.notes[:NOTES_LIMIT]))

    @property
    def name(self) -> str:
        """The case id, with the parameter in brackets if there is one."""
        return f"{self.case.id}[{self.parameter}]" if self.parameter else self.case.id

    def to_dict(self) -> Json:
        """Plain data that JSON and xdist's channel carry."""
        return {
            "case": self.case.id,
            "state": self.state.value,
            "reason": self.reason,
            "remedy": self.remedy,
            "provisional": self.provisional,
            "finding": None if self.finding is None else dataclasses.asdict(self.finding),
            "error": self.error,
            "excerpt": list(self.excerpt),
            "steps": [each.to_dict() for each in self.steps],
            "notes": list(self.notes),
            "duration_s": self.duration_s,
            "parameter": self.parameter,
        }

    @classmethod
    def from_dict(cls, data: Json, *, case_of: Callable[[str], Case]) -> CaseResult:
        """The inverse of :meth:`to_dict`.

        Args:
            data: what :meth:`to_dict` gave.
            case_of: finds a case by its id (``catalogue().case``).

        Raises:
            KeyError, TypeError, ValueError: ``data`` is something else.
        """
        fields = dict(data)
        finding = fields.pop("finding")
        return cls(
            **{
                **fields,
                "case": case_of(fields["case"]),
                "state": State(fields["state"]),
                "finding": None if finding is None else Finding(**finding),
                "excerpt": tuple(fields["excerpt"]),
                "steps": tuple(Step.from_dict(each) for each in fields["steps"]),
                "notes": tuple(fields["notes"]),
            }
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option as it was resolved.

    ``name`` is spelled as on the command line (``--dra-driver``), ``value`` is its text, or a
    bool for a switch; ``source`` says where the value came from (``command line``,
    ``environment``, ``ini``, ``profile``, ``default``).
    """

    name: str
    value: str | bool
    source: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run of the suite on one driver.

    Attributes:
        driver: the driver's name; empty if it never became known.
        launched: the value of ``--dra-driver``.
        kubernetes: the minor, ``"1.37"``.
        depths: at which the run judged.
        cluster: the value of ``--dra-cluster``.
        node: the one whose instance of the driver was judged, where one was chosen.
        implemented: ids of the cases that this suite has; others never count.
        results: sorted by id and parameter; an implemented case without a result is added as
            deselected.
        options: as resolved, with provenance.
        started: an aware point in time.
        versions: of the suite and of what it runs on, by name.
        catalogue: the hash of the catalogue.
        observations: what the run has shown of the driver beside its cases
            (``checks.observations``); empty if none was started.
        figures: what was measured beside.
        nodes: of a cluster that was judged node by node; each result is the worst of theirs.
    """

    driver: str
    launched: str
    kubernetes: str
    depths: tuple[Depth, ...]
    cluster: str
    implemented: Mapping[str, Case]
    results: tuple[CaseResult, ...]
    started: datetime.datetime
    duration_s: float
    profile: DriverProfile = DEFAULT_PROFILE
    options: tuple[Option, ...] = ()
    versions: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    catalogue: str = ""
    observations: Json = dataclasses.field(default_factory=dict)
    figures: Figures = NONE
    node: str = ""
    nodes: tuple[NodeResult, ...] = ()

    def __post_init__(self) -> None:
        have = {each.case.id for each in self.results}
        absent = [
            not_run(case, DESELECTED) for id_, case in self.implemented.items() if id_ not in have
        ]
        complete = sorted((*self.results, *absent), key=lambda each: (each.case.id, each.parameter))
        object.__setattr__(self, "results", tuple(complete))

    @property
    def depth(self) -> Depth:
        """The greatest depth at which the run judged."""
        return max(self.depths, key=list(Depth).index)

    def reaches(self, depth: Depth) -> bool:
        """True if a conformance profile of this depth can be judged by the run.

        Static cases go with every run at wire depth.
        """
        return depth in self.depths or (depth is Depth.STATIC and Depth.WIRE in self.depths)


def failed(
    case: Case,
    violation: Violation,
    *,
    excerpt: Iterable[str] = (),
    steps: Iterable[Step] = (),
    duration_s: float = 0.0,
) -> CaseResult:
    """The driver broke the rule of ``case``."""
    return CaseResult(
        case=case,
        state=State.FAILED,
        finding=Finding.of(violation, case),
        excerpt=tuple(excerpt),
        steps=tuple(steps),
        duration_s=duration_s,
    )


def unsupported(case: Case, reason: UnsupportedEnvironment) -> CaseResult:
    """A case that this run cannot judge, with the way to a run that can."""
    return CaseResult(
        case=case,
        state=State.UNSUPPORTED_ENVIRONMENT,
        reason=str(reason),
        remedy=reason.way_out,
    )


def waived(case: Case, waiver: Waiver) -> CaseResult:
    """The profile declares an exception for ``case``."""
    text = f"{waiver.reason} ({waiver.link}), until {waiver.expires}"
    return CaseResult(case=case, state=State.WAIVED, reason=text)


def not_run(case: Case, reason: str, *, parameter: str = "") -> CaseResult:
    """``case`` did not run: DESELECTED, or what the two functions below return."""
    return CaseResult(case=case, state=State.NOT_RUN, reason=reason, parameter=parameter)


def blocked_by(ids: Iterable[str]) -> str:
    """The reason of a case that needs others which did not pass."""
    return BLOCKED + ", ".join(sorted(ids))


def input_missing(fields: Iterable[str]) -> str:
    """The reason of a case that needs profile fields which are not given."""
    return INPUT_MISSING + ", ".join(fields)
