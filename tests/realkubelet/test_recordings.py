"""The kubelet stand-in makes the calls that real kubelets made to ``dra-test-driver``."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from pytest_dra.spec import Json
from tests.realkubelet.record import RECORDINGS
from tests.realkubelet.record import written
from tests.realkubelet.scenarios import SCENARIOS
from tests.upstream.kubelet import held
from tests.upstream.kubelet_compare import differences
from tests.upstream.kubelet_compare import without_resets
from tests.upstream.kubelet_play import play
from tests.upstream.kubelet_reduction import reduced

FILES = sorted(RECORDINGS.glob("*/*.json"))


def read(file: Path) -> Json:
    found: Json = json.loads(file.read_text("utf-8"))
    return found


def scenario_of(file: Path) -> Json:
    """What the comparison plays, without the resets of streams a moment before a kubelet's end.

    Ours just closes the connection; a plugin's handler is cancelled in both cases.
    """
    found = reduced(file.stem, read(file))
    ends = [act[0] for act in found["do"] if act[1] == "stop"]
    return {**found, "saw": without_resets(found["saw"], ends)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_the_stand_in_makes_the_same_calls(file: Path) -> None:
    scenario = scenario_of(file)
    found, _, _ = held(file.stem, scenario, file.parent.name)
    assert found == []


def test_each_scenario_is_recorded_and_says_what_it_does() -> None:
    assert {file.stem for file in FILES} == set(SCENARIOS)
    for file in FILES:
        made = read(file)
        assert made["about"].startswith((SCENARIOS[file.stem].__doc__ or "").strip())
        assert made["kubelet"].startswith(f"v{file.parent.name}.")
        assert written(made) == file.read_text("utf-8")


def test_a_call_that_is_missing_or_another_is_a_difference() -> None:
    file = FILES[0]
    scenario = scenario_of(file)
    ours = play(file.stem, scenario, file.parent.name)
    assert differences(file.stem, scenario, ours) == []
    calls = [n for n, row in enumerate(ours) if row[2][0] == "call" and "claims" in row[2][2]]
    fewer = [row for n, row in enumerate(ours) if n != calls[-1]]
    assert differences(file.stem, scenario, fewer)
    other = copy.deepcopy(ours)
    other[calls[0]][2][2]["deadline"] = 10
    assert differences(file.stem, scenario, other)
