"""Our allocator against stored answers of Kubernetes' own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.allocator.rules import LATEST
from pytest_dra.allocator.rules import OLDEST
from tests.upstream import allocator
from tests.upstream import allocatorhard
from tests.upstream.allocatorfuzz import DRAWN
from tests.upstream.allocatorfuzz import verdicts
from tests.upstream.allocatorrecord import GOLDENS
from tests.upstream.allocatorrecord import SCENARIOS
from tests.upstream.scenario import answer

STORED = list(allocator.documents(SCENARIOS))
WANTED = {one["id"]: one for one in allocator.documents(GOLDENS)}


@pytest.mark.parametrize("patience", [0, 40])
def test_the_allocator_answers_like_the_scheduler(patience: int) -> None:
    found = {}
    for scenario in STORED:
        want = WANTED[scenario["id"]]
        got = answer(scenario, patience=patience, minor=allocator.release(want))
        text = allocator.difference(want, got)
        if text:
            found[scenario["id"]] = text
    assert found == {}


def test_the_stored_answers_speak_of_every_verdict_variant_and_release() -> None:
    kinds = {kind for one in WANTED.values() for kind in verdicts(one)}
    variants = {one.get("variant") for one in WANTED.values()}
    assert {allocator.release(one) for one in WANTED.values()} == set(range(OLDEST, LATEST + 1))
    assert kinds == {"fits", "nofit", "node", "fatal"}
    assert {"stable", "incubating", "experimental"} <= variants


@pytest.mark.parametrize("how", sorted(DRAWN))
def test_a_seed_always_draws_the_same_scenario(how: str) -> None:
    assert DRAWN[how](7) == DRAWN[how](7)
    assert DRAWN[how](7) != DRAWN[how](8)


def test_the_command_counts_and_shows_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitting = next(one for one in STORED if verdicts(WANTED[one["id"]]) == ["fits"])
    wrong: dict[str, Any] = {**WANTED[fitting["id"]], "nodes": [{"node": "n1", "nofit": True}]}
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "one.json").write_text(json.dumps([fitting], indent=1))
    goldens = tmp_path / "goldens.jsonl"
    goldens.write_text(json.dumps(wrong) + "\n")
    monkeypatch.setattr("sys.argv", ["allocator", str(tmp_path / "scenarios"), str(goldens)])
    assert allocator.main() == 1
    shown = capsys.readouterr().out
    assert fitting["id"] in shown
    assert shown.endswith("0 agree, 1 differ\n")


def test_share_ids_do_not_count_and_amounts_are_spelled_as_upstream_spells_them() -> None:
    def one(share: str, amount: str) -> dict[str, Any]:
        result = {"request": "r", "shareID": share, "consumedCapacity": {"m": amount}}
        return {"node": "n1", "result": [{"devices": {"results": [result]}}]}

    assert allocator.normal([one("share-0", "1Ki")]) == allocator.normal([one("x", "1Ki")])
    assert allocator.normal([one("share-0", "1Ki")]) != allocator.normal([one("x", "1024")])


def test_truth_values_of_yaml_become_text_as_for_the_oracle(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text("id: n\nname: y\nother: no more\n")
    assert list(allocator.documents(path)) == [{"id": "false", "name": "true", "other": "no more"}]


@pytest.mark.parametrize(
    ("seed", "steps", "verdict"),
    [(422, 3_000, "nofit"), (485, 12_000, "nofit"), (66, 400_000, "fits")],
)
def test_puzzles_of_counters_are_solved(seed: int, steps: int, verdict: str) -> None:
    # Where requests are weighed one by one these take more than that.
    assert verdicts(answer(allocatorhard.scenario(seed), budget=steps)) == [verdict]
