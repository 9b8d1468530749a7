"""Which reports are of one run of a job.

A Job is run again under its name, on fewer nodes maybe, and its shards may leave no report that
time. What they have left the time before lies in ConfigMaps yet, which outlive the Job: whoever
deletes a Job that hangs keeps what it has found. So each ConfigMap has the uid of its Job, and the
Job, where it is in the list, says which run is meant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from typing import TypeVar

from pytest_dra.report.plain import one_line
from pytest_dra.report.reading import BadReport
from pytest_dra.spec import Json

JOB_LABEL: Final = "pytest-dra.dev/job"
"""Label of everything that a job has."""

RUN_LABEL: Final = "pytest-dra.dev/job-uid"
"""Label of a node's ConfigMap: uid of the Job whose shard has left it."""

RUN_OPTION: Final = "--run"

UNKNOWN: Final = "unknown"
"""Stands for the run of a report that says nothing of it: left by an older suite, or no Job."""

RUNS_SHOWN: Final = 5
"""Runs in a sentence, the newest first."""

Group = tuple[str, str]
"""Namespace and name of a job."""

Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A ConfigMap with a report, and the file that it was in."""

    path: Path
    item: Json

    @property
    def job(self) -> Group:
        return _field(self.item, "namespace"), _labelled(self.item, JOB_LABEL)

    @property
    def run(self) -> str:
        return _labelled(self.item, RUN_LABEL) or UNKNOWN

    @property
    def made(self) -> str:
        """When, as an API server writes times, which sort as texts."""
        return _field(self.item, "creationTimestamp")


def of_one_run(
    reports: Sequence[Kept], jobs: Iterable[Json], *, wanted: Collection[str] = ()
) -> tuple[list[Kept], list[str]]:
    """The reports of the run that is meant, and a sentence on what is left out of each job.

    Args:
        reports: ConfigMaps with reports, of one job or of several, in any order.
        jobs: the Jobs themselves, as far as they are known: those of them that are still there.
        wanted: uids of runs, which decide where there are some.

    Raises:
        BadReport: there are several runs of a job and nothing says which is meant, or none is left.
    """
    missing = set(wanted) - {each.run for each in reports}
    if missing:
        there = _runs(reports) if reports else "none"
        raise BadReport(f"{RUN_OPTION}={min(missing)}: no report of that run; there are: {there}")
    there_now = _grouped(jobs, _named)
    kept: list[Kept] = []
    told: list[str] = []
    for job, found in _grouped(reports, lambda each: each.job).items():
        meant = set(wanted) or {_field(each, "uid") for each in there_now.get(job, ())}
        runs = {each.run for each in found}
        if not meant and len(runs) > 1:
            raise BadReport(
                f"{_spelled(job)}: reports of {len(runs)} runs: {_runs(found)}; take one of them "
                f"with {RUN_OPTION}=UID, or have the Job in the list, too: "
                "kubectl get jobs,configmaps"
            )
        good = [each for each in found if not meant or each.run in meant]
        others = [each for each in found if meant and each.run not in meant]
        if others:
            told.append(f"{_spelled(job)}: left out, of other runs: {_runs(others)}")
        kept += good
    if reports and not kept:
        raise BadReport(
            f"no report of any node; {'; '.join(told)}; the Job that is there has left none, "
            f"{RUN_OPTION}=UID takes those of another run"
        )
    return kept, told


def _grouped(found: Iterable[Item], key: Callable[[Item], Group]) -> dict[Group, list[Item]]:
    made: dict[Group, list[Item]] = {}
    for each in found:
        made.setdefault(key(each), []).append(each)
    return made


def _runs(found: Iterable[Kept]) -> str:
    """Runs in a sentence: how many reports of each, and when the last of them was made."""
    last: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for each in found:
        last[each.run] = max(last.get(each.run, ""), each.made)
        numbers[each.run] = numbers.get(each.run, 0) + 1
    every = [
        f"{numbers[run]} of {one_line(run)}{f' ({one_line(last[run])})' if last[run] else ''}"
        for run in sorted(last, key=lambda run: (last[run], run), reverse=True)
    ]
    more = len(every) - RUNS_SHOWN
    return ", ".join(every[:RUNS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _named(job: Json) -> Group:
    return _field(job, "namespace"), _field(job, "name")


def _spelled(job: Group) -> str:
    return f"job {one_line('/'.join(filter(None, job)))}"


def _labelled(item: Json, label: str) -> str:
    labels = item["metadata"].get("labels")
    return str(labels.get(label) or "") if isinstance(labels, dict) else ""


def _field(item: Json, field: str) -> str:
    return str(item["metadata"].get(field) or "")
