"""Some of the recorded scenarios, and whether the comparison sees what it should."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest

from pytest_dra.kubelet import podclaims
from tests.upstream import kubelet_play
from tests.upstream import kubelet_recordings
from tests.upstream.kubelet import held
from tests.upstream.kubelet import main
from tests.upstream.kubelet_compare import differences
from tests.upstream.kubelet_play import play
from tests.upstream.kubelet_record import recording
from tests.upstream.kubelet_scope import known

KEPT = kubelet_recordings.kept()

QUICK = [
    ("1.37", "back-quick-recreate"),
    ("1.37", "down-state-corrupt"),
    ("1.37", "down-force-deleted"),
    ("1.37", "gone-killed"),
    ("1.37", "health-limits"),
    ("1.37", "health-timeout"),
    ("1.37", "health-versions"),
    ("1.34", "health-versions"),
    ("1.37", "name-empty"),
    ("1.37", "notify-error"),
    ("1.34", "notify-error"),
    ("1.37", "podresources-and-checkpoint"),
    ("1.37", "prepare-error"),
    ("1.37", "prepare-rpc-error"),
    ("1.37", "prepare-second-driver-fails"),
    ("1.34", "prepare-second-driver-fails"),
    ("1.37", "prepare-shared-at-once"),
    ("1.37", "prepare-wrong-answers"),
    ("1.37", "reg-names"),
    ("1.37", "restart-dot-names"),
    ("1.37", "restart-prepare-hanging"),
    ("1.37", "restart-shared"),
    ("1.34", "two-instances-same-endpoint"),
    ("1.37", "unprepare-claim-gone"),
    ("1.37", "unprepare-error-finished"),
    ("1.37", "unprepare-forced-failing"),
    ("1.37", "unprepare-other-pod-arrives"),
    ("1.34", "unprepare-other-pod-arrives"),
    ("1.37", "unprepare-two-drivers-one-fails"),
]
"""One of each kind, none longer than a second or so; the command plays all of them."""


@pytest.mark.parametrize(("version", "name"), QUICK)
def test_our_kubelet_does_what_the_real_one_did(version: str, name: str) -> None:
    found, _, _ = held(name, KEPT[version][name], version)
    assert found == []


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("down-force-deleted", {"reconcile_s": 40.0}),
        ("gone-killed", {"wipe_delay_s": 25.0}),
        ("notify-slow-3s", {"notify_s": 2.0}),
        ("prepare-error", {"resync_s": 30.0}),
        ("unprepare-error", {"pod_retry_s": 20.0}),
    ],
)
def test_another_number_is_a_difference(
    monkeypatch: pytest.MonkeyPatch, name: str, setting: dict[str, float]
) -> None:
    changed = dataclasses.replace(kubelet_play.KUBELET_SETTINGS, **setting)
    monkeypatch.setattr(kubelet_play, "KUBELET_SETTINGS", changed)
    scenario = KEPT["1.37"][name]
    assert differences(name, scenario, play(name, scenario, "1.37")) != []


@pytest.mark.parametrize("name", ["prepare-second-driver-fails", "unprepare-other-pod-arrives"])
def test_another_way_with_claims_is_a_difference(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(podclaims, "STRICT_SINCE", (9, 9))
    scenario = KEPT["1.37"][name]
    assert differences(name, scenario, play(name, scenario, "1.37")) != []


def test_a_recording_of_ours_has_the_oracles_form() -> None:
    name = "prepare-two-claims"
    everything: list[list[Any]] = []
    play(name, KEPT["1.37"][name], "1.37", everything=everything)
    timeline = recording(name, KEPT["1.37"][name], everything)["timeline"]
    of_driver = [entry for entry in timeline if entry["sock"] == "dra"]
    assert [(entry["ev"], entry.get("method")) for entry in of_driver] == [
        ("open", None),
        ("call", "NodePrepareResources"),
        ("answer", "NodePrepareResources"),
        ("call", "NodeUnprepareResources"),
        ("answer", "NodeUnprepareResources"),
    ]
    assert of_driver[1]["claims"] == [{"name": "c1"}, {"name": "c2"}]
    assert of_driver[1]["deadline"] == 45


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


@pytest.mark.parametrize(
    ("lane", "change"),
    [
        ("events/p", "no such thing"),
        ("checkpoint", "uid-of-p"),
        ("status/p", "Succeeded"),
        ("a/dra", "c1"),
    ],
)
def test_what_is_told_of_a_pod_and_kept_of_its_claims_counts(lane: str, change: str) -> None:
    name = {
        "events/p": "prepare-error",
        "checkpoint": "podresources-and-checkpoint",
        "status/p": "prepare-basic",
        "a/dra": "prepare-two-claims",
    }[lane]
    scenario = KEPT["1.37"][name]
    same = copy.deepcopy(scenario["saw"])
    assert differences(name, scenario, same) == []
    changed = [
        json.loads(json.dumps(row).replace(change, "other")) if row[1] == lane else row
        for row in same
    ]
    assert differences(name, scenario, changed) != []


def test_each_recorded_scenario_is_played_or_has_a_reason() -> None:
    assert {len(KEPT[version]) for version in kubelet_recordings.VERSIONS} == {110, 120}
    for version, scenarios in KEPT.items():
        assert {name for name in scenarios if not scenarios[name]} == set(known()[version])
    assert len(known()["1.37"]) == 1


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
    asked = ["--kubernetes", "1.37", "--jobs", "1", "reg-basic", "helper-republish"]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 agree, 1 differ"
    assert lines[0] == f"1.37 helper-republish: {known()['1.37']['helper-republish']}"
    assert main(["no-such-scenario"]) == 1
