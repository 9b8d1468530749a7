"""What is kept of a case on disk: its part of the timeline, and the driver's output."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from pytest_dra.checks.histories import HistoryViolation
from pytest_dra.checks.histories import as_file
from pytest_dra.clusters.nodelogs import NODES
from pytest_dra.report.plain import plain
from pytest_dra.report.redaction import redacted
from pytest_dra.report.redaction import redacted_data
from pytest_dra.report.results import AT_CLUSTER
from pytest_dra.report.results import State
from pytest_dra.timeline import Entry

if TYPE_CHECKING:
    from pytest_dra.outcome import Outcome

NOTABLE = frozenset({State.FAILED, State.ERRORED})

ESCAPED = 10
"""Characters that one character becomes at most when it is escaped (``\\U0010ffff``)."""

FOLDER = "cases"
TIMELINE = "timeline.jsonl"
LOG = "driver.log"
HISTORY = "history.txt"
CLUSTER_LOGS = ("etcd.log", "kube-apiserver.log", f"{NODES}.log")


def forget(output: Path, ids: Iterable[str]) -> None:
    """Remove what an earlier run has kept: beside a new report it would mislead.

    Only files that :func:`keep` writes are touched; what cannot be removed stays.
    """
    for name in [each for id in ids for each in (id, f"{id}-{AT_CLUSTER}")]:
        folder = output / FOLDER / name
        with contextlib.suppress(OSError):
            for file in (TIMELINE, LOG, HISTORY, *CLUSTER_LOGS):
                (folder / file).unlink(missing_ok=True)
            folder.rmdir()


def keep(output: Path, outcome: Outcome, *, when: str) -> None:
    """Write ``cases/ID/timeline.jsonl`` and ``driver.log`` below the output directory.

    Of a history that fails its shortest form, too, to be played again.

    Of a real API server the end of its log and of etcd's as well, of nodes those of theirs.

    Args:
        output: the report's directory.
        outcome: of the case that has just been judged.
        when: ``never``, ``on-failure`` or ``always``.

    Raises:
        OSError: it cannot be written.
    """
    result = outcome.result
    if when == "never" or (when == "on-failure" and result.state not in NOTABLE):
        return
    folder = output / FOLDER / "-".join(filter(None, (result.case.id, result.parameter)))
    folder.mkdir(parents=True, exist_ok=True)
    lines = [_line(entry) for entry in outcome.traffic]
    (folder / TIMELINE).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    if isinstance(outcome.error, HistoryViolation):
        (folder / HISTORY).write_text(redacted(as_file(outcome.error.history)), "utf-8")
    # Escaped: logs are looked at with tools that send them to a terminal as they are.
    logs = {f"{name}.log": text for name, text in outcome.cluster_logs.items()}
    for name, log in {LOG: outcome.log, **logs}.items():
        (folder / name).write_text(redacted(plain(log, ESCAPED * len(log))), "utf-8")


def _line(entry: Entry[Any]) -> str:
    # Not asdict: it makes each dict anew from its items, which the server's own kinds refuse.
    event = {each.name: getattr(entry.event, each.name) for each in dataclasses.fields(entry.event)}
    data = {
        "serial": entry.serial,
        "at": round(entry.at, 4),
        "kind": type(entry.event).__name__,
        "disturbed": entry.disturbed,
        **{key: value for key, value in event.items() if value not in (None, "", ())},
    }
    # Fields first, by their names; then the text, for what stands in the middle of another.
    return redacted(json.dumps(redacted_data(data), default=str))
