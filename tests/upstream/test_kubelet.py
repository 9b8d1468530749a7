"""Some of the recorded scenarios, and whether the comparison sees what it should."""

from __future__ import annotations

import copy
import dataclasses
import json

import pytest

from tests.upstream import kubelet_play
from tests.upstream import kubelet_recordings
from tests.upstream.kubelet import held
from tests.upstream.kubelet import main
from tests.upstream.kubelet_compare import differences
from tests.upstream.kubelet_play import play
from tests.upstream.kubelet_scope import PLAYED
from tests.upstream.kubelet_scope import UNKNOWN
from tests.upstream.kubelet_scope import reason

KEPT = kubelet_recordings.kept()

QUICK = [
    ("1.37", "back-quick-recreate"),
    ("1.37", "down-state-corrupt"),
    ("1.37", "gone-killed"),
    ("1.37", "health-versions"),
    ("1.34", "health-versions"),
    ("1.37", "name-empty"),
    ("1.37", "notify-error"),
    ("1.34", "notify-error"),
    ("1.37", "reg-names"),
    ("1.37", "restart-dot-names"),
    ("1.37", "restart-prepare-hanging"),
    ("1.34", "two-instances-same-endpoint"),
]
"""One of each kind, none longer than a second or so; the command plays all of them."""


@pytest.mark.parametrize(("version", "name"), QUICK)
def test_our_kubelet_does_what_the_real_one_did(version: str, name: str) -> None:
    found, _, _ = held(name, KEPT[version][name], version)
    assert found == []


@pytest.mark.parametrize(
    ("name", "setting"),
    [("gone-killed", {"wipe_delay_s": 25.0}), ("notify-slow-3s", {"notify_s": 2.0})],
)
def test_another_number_is_a_difference(
    monkeypatch: pytest.MonkeyPatch, name: str, setting: dict[str, float]
) -> None:
    changed = dataclasses.replace(kubelet_play.KUBELET_SETTINGS, **setting)
    monkeypatch.setattr(kubelet_play, "KUBELET_SETTINGS", changed)
    scenario = KEPT["1.37"][name]
    assert differences(name, scenario, play(name, scenario, "1.37")) != []


def test_what_is_missing_added_or_other_is_a_difference() -> None:
    scenario = KEPT["1.37"]["two-instances-hijack"]
    same = copy.deepcopy(scenario["saw"])
    assert differences("two-instances-hijack", scenario, same) == []
    for change in ("missing", "added", "deadline", "late"):
        changed = copy.deepcopy(scenario["saw"])
        at, lane, call = changed[1]
        if change == "missing":
            del changed[1]
        elif change == "added":
            changed.insert(2, [at, lane, ["cancelled", "GetInfo"]])
        elif change == "deadline":
            call[2]["deadline"] = 2
        else:
            changed[0][0] += 5.0
        assert len(differences("two-instances-hijack", scenario, changed)) >= 1, change


def test_each_recorded_scenario_is_played_or_has_a_reason() -> None:
    assert {len(KEPT[version]) for version in kubelet_recordings.VERSIONS} == {110, 120}
    for scenarios in KEPT.values():
        for name in scenarios:
            assert bool(reason(name)) is (name not in PLAYED)
            assert reason(name) != UNKNOWN
    assert reason("something-else") == UNKNOWN


def test_the_kept_form_of_repeated_texts_is_undone() -> None:
    refusals = [
        row[2][2]["error"]
        for row in KEPT["1.37"]["versions"]["saw"]
        if row[1] == "unknown/reg" and row[2][0] == "call" and "error" in row[2][2]
    ]
    assert len(refusals) > 1
    assert len(set(refusals)) == 1
    assert refusals[0].startswith("RegisterPlugin error -- ")
    assert "/p/" not in json.dumps(KEPT["1.37"]["versions"]["saw"])


def test_the_command_ends_with_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kubernetes", "1.37", "reg-basic", "metrics-names"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 agree, 0 differ"
    assert lines[0].startswith("1.37 metrics-names: not played: ")
    assert main(["no-such-scenario"]) == 1
