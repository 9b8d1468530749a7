"""What a user can do about a case that was not judged, and how to run cases again."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection
from collections.abc import Iterable

from pytest_dra.catalogue import catalogue
from pytest_dra.report.plain import plain
from pytest_dra.report.redaction import redacted
from pytest_dra.report.results import BLOCKED
from pytest_dra.report.results import DESELECTED
from pytest_dra.report.results import ENDED_BEFORE
from pytest_dra.report.results import INPUT_MISSING
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State

DEFAULT_SOURCE = "default"
"""Provenance of an option that need not be repeated."""

HOOKS = "hooks."
"""Fields of the profile in whose place a pytest plugin can do the work."""

OUTPUT_OPTIONS = ("--dra-output", "--dra-summary")
"""Where things are written changes nothing in them."""
CASE_OPTION = "--dra-case"
NODE_OPTION = "--dra-node"

BAD = (State.FAILED, State.ERRORED)

COMMAND_LIMIT = 8192
"""Characters of the command: far more than a terminal line, far less than a process takes."""


def remedy(result: CaseResult) -> str:
    """The option or profile field that would get the case judged; empty if nothing is known."""
    if result.remedy:
        return result.remedy
    reason = result.reason
    if result.state is State.WAIVED:
        return "mend the driver, then remove the waiver from the profile (--dra-profile)"
    if reason == ENDED_BEFORE:
        return "let the run go to its end"
    if reason.startswith(DESELECTED):
        return f"leave the selection of cases out, or name it: --dra-case={result.case.id}"
    if reason.startswith(BLOCKED):
        blockers = reason.removeprefix(BLOCKED)
        return f"see why {blockers} did not pass: --dra-case={blockers.replace(', ', ',')}"
    if reason.startswith(INPUT_MISSING):
        fields = reason.removeprefix(INPUT_MISSING).split(", ")
        given = [f"{field} ({catalogue().inputs.get(field, 'see the schema')})" for field in fields]
        ways = [f"pytest_dra_{field.removeprefix(HOOKS)}" for field in fields if HOOKS in field]
        instead = f", or implement {', '.join(ways)} in a conftest" if ways else ""
        return f"give {', '.join(given)} in the profile (--dra-profile){instead}"
    return ""


def command(run: RunResult, ids: Iterable[str] = ()) -> str:
    """The command line that judges these cases again, with every option that mattered.

    Options from the environment, ini files and the profile are written out, so that the line
    works elsewhere; secrets are redacted. Node ids never occur: they depend on the folder.

    Args:
        run: whose options are repeated.
        ids: case ids; none repeats the whole run, with its own selection. Where nodes were judged
            one by one, these are judged on the one that most of them went wrong on.
    """
    words = ["pytest"]
    chosen = sorted(set(ids))
    for option in run.options:
        if option.source == DEFAULT_SOURCE or option.name in OUTPUT_OPTIONS:
            continue
        if chosen and option.name == CASE_OPTION:
            continue
        if option.value is True:
            words.append(option.name)
        elif option.value not in (False, ""):
            words.append(f"{option.name}={option.value}")
    if chosen:
        words.append(f"{CASE_OPTION}={','.join(chosen)}")
        words += [f"{NODE_OPTION}={node}" for node in _worst_node(run, chosen)]
    return plain(shlex.join(redacted(each) for each in words), COMMAND_LIMIT)


def _worst_node(run: RunResult, ids: Collection[str]) -> list[str]:
    """The node that most of these cases went wrong on, the first of several; none for one run."""
    bad = {each.name for each in run.results if each.case.id in ids and each.state in BAD}
    wrong = Counter(
        node.name
        for node in run.nodes
        for case, state in node.states.items()
        if case in bad and State(state) in BAD
    )
    return [node for node, _ in wrong.most_common(1)]
