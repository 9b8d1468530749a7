"""Reports of single nodes for tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from pytest_dra.report.document import document
from pytest_dra.report.reading import Report
from pytest_dra.report.reading import read_text
from pytest_dra.report.results import Option
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.report.yaml_report import render
from pytest_dra.spec import Depth
from tests.report.running import OPTIONS
from tests.report.running import run_of

MUST_ID, OTHER_MUST_ID, SHOULD_ID = "SHARE-001", "LIFE-001", "SHARE-003"
"""Cases of CLUSTER-CORE."""

GOOD = {MUST_ID: State.PASSED, OTHER_MUST_ID: State.PASSED, SHOULD_ID: State.PASSED}
BAD = {MUST_ID: State.FAILED, OTHER_MUST_ID: State.NOT_RUN, SHOULD_ID: State.PASSED}


def text_of(node: str, states: Mapping[str, State] = GOOD, *, kubernetes: str = "1.37") -> str:
    """The report of a node."""
    run = dataclasses.replace(
        run_of(states, depth=Depth.CLUSTER),
        node=node,
        kubernetes=kubernetes,
        cluster="kubeconfig",
        options=(*OPTIONS, Option(name="--dra-node", value=node, source="command line")),
    )
    return render(document(run, summarise(run)))


def shard(node: str, states: Mapping[str, State] = GOOD, *, kubernetes: str = "1.37") -> Report:
    """The same as it is read."""
    return read_text(f"{node}.yaml", text_of(node, states, kubernetes=kubernetes))
