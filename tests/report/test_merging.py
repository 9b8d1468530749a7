"""Reports of single nodes become one: the worst of each case, and which nodes differ."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.report import html
from pytest_dra.report import markdown
from pytest_dra.report.checksum import FIELD
from pytest_dra.report.checksum import checksum
from pytest_dra.report.consistency import contradictions
from pytest_dra.report.document import document
from pytest_dra.report.merging import merged
from pytest_dra.report.nodes import lines
from pytest_dra.report.nodes import usual
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import Report
from pytest_dra.report.reading import read_text
from pytest_dra.report.results import State
from pytest_dra.report.shards import config_map
from pytest_dra.report.shards import found
from pytest_dra.report.verdict import summarise
from pytest_dra.report.yaml_report import problems_of
from tests.report.running import run_of
from tests.report.sharded import BAD
from tests.report.sharded import GOOD
from tests.report.sharded import MUST_ID
from tests.report.sharded import OTHER_MUST_ID
from tests.report.sharded import SHOULD_ID
from tests.report.sharded import shard
from tests.report.sharded import text_of


def together(*reports: Report, expected: tuple[str, ...] = ()) -> dict[str, Any]:
    """The report of them all, which has its form and agrees with itself."""
    run = merged(reports, expected=expected)
    data = document(run, summarise(run))
    assert problems_of(data) == []
    assert list(contradictions(data)) == []
    return data


def cases(data: Mapping[str, Any]) -> dict[str, Any]:
    return {each["id"]: each for each in data["cases"]}


def test_alike_nodes_are_as_one() -> None:
    data = together(shard("b"), shard("a"))
    assert data["verdict"] == "conformant"
    assert [(each["name"], each["differs"]) for each in data["nodes"]] == [("a", []), ("b", [])]
    assert lines(data) == ["nodes: 2, differing: none"]
    assert not any("nodes" in each for each in data["cases"])
    assert "node" not in data["environment"]
    assert "--dra-node" not in data["reproduce"]["all"]


def test_of_each_case_the_worst_counts_and_the_node_is_named() -> None:
    data = together(shard("good"), shard("bad", BAD))
    assert data["verdict"] == "non-conformant"
    one = cases(data)[MUST_ID]
    assert (one["state"], one["where"]) == ("failed", "claim 'a'")
    assert one["nodes"] == {"failed": ["bad"], "passed": ["good"]}
    assert cases(data)[OTHER_MUST_ID]["state"] == "not-run"
    assert "nodes" not in cases(data)[SHOULD_ID]
    assert lines(data) == [
        "nodes: 2, differing: bad",
        f"  bad: non-conformant; {MUST_ID} failed there, passed elsewhere; {OTHER_MUST_ID} not-run "
        "there, passed elsewhere",
    ]


def test_failed_cases_are_reproduced_on_the_node_that_most_of_them_failed_on() -> None:
    """Without its name the first node of the cluster would be judged, which is a good one."""
    other = {**GOOD, SHOULD_ID: State.FAILED}
    both = {**other, MUST_ID: State.ERRORED}
    data = together(shard("a"), shard("b", other), shard("c", both), shard("d", both))
    assert data["reproduce"]["failed"].endswith(f" --dra-case={MUST_ID},{SHOULD_ID} --dra-node=c")
    page = html.render(data)
    assert f"--dra-case={SHOULD_ID} --dra-node=b</pre>" in page
    assert "--dra-node=c --dra-case" not in page


def test_what_most_nodes_have_is_the_norm_and_of_two_the_better() -> None:
    assert usual({"failed": ["a", "b"], "passed": ["c"]}) == "failed"
    assert usual({"failed": ["a"], "passed": ["c"]}) == "passed"
    assert usual({"not-run": ["a"], "unsupported-environment": ["b"]}) == "unsupported-environment"
    data = together(shard("a", BAD), shard("b", BAD), shard("c"))
    assert lines(data)[0] == "nodes: 3, differing: c"


def test_a_node_without_a_report_lets_nothing_good_be_said() -> None:
    data = together(shard("a"), expected=("a", "gone"))
    assert data["verdict"] == "inconclusive"
    assert data["verdictOf"]["reason"] == "no report came of gone"
    assert lines(data) == ["nodes: 2, differing: none, without a report: gone"]
    assert together(shard("a", BAD), expected=("gone",))["verdict"] == "non-conformant"


def test_all_forms_name_the_nodes() -> None:
    run = merged([shard("good"), shard("bad", BAD)], expected=("gone",))
    hostile = [
        dataclasses.replace(each, name="<bad>|") if each.name == "bad" else each
        for each in run.nodes
    ]
    data = document(dataclasses.replace(run, nodes=tuple(hostile)), summarise(run))
    page, summary = html.render(data), markdown.render(data)
    assert "&lt;bad&gt;|" in page
    assert '<h2 id="nodes">Nodes (3)</h2>' in page
    assert "no report came of it" in page
    assert f"--dra-case={MUST_ID} --dra-node=&#39;&lt;bad&gt;|&#39;</pre>" in page
    assert "the logs of its pod on that node" in page
    assert "### Nodes (3; different or without a report: 2)" in summary
    assert f"{MUST_ID} failed there, passed elsewhere" in summary
    assert "<bad>" not in summary


def test_a_report_that_was_changed_is_not_merged() -> None:
    changed = text_of("b", BAD).replace("verdict: non-conformant", "verdict: conformant")
    with pytest.raises(BadReport, match=r"^b:[0-9]+: .*conformant"):
        merged([shard("a"), read_text("b", changed)])


def test_what_are_no_shards_of_one_run_is_told() -> None:
    with pytest.raises(BadReport, match=r"^b\.yaml: node b has another Kubernetes than node a"):
        merged([shard("a"), shard("b", kubernetes="1.36")])
    with pytest.raises(BadReport, match=r"^a\.yaml: of node a, as a\.yaml is$"):
        merged([shard("a"), shard("a")])
    with pytest.raises(BadReport, match="not of one node of a cluster: made without --dra-node"):
        merged([shard("")])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data["nodes"][0]["differs"].clear(), "bad differs otherwise by the cases"),
        (lambda data: data["nodes"].pop(0), "bad differs by the cases and is not among the nodes"),
        (
            lambda data: cases(data)[MUST_ID]["nodes"].update(errored=["x"]),
            "x differs by the cases and is not among the nodes",
        ),
        (
            lambda data: cases(data)[MUST_ID].update(nodes={"passed": ["good"], "waived": ["bad"]}),
            "failed, the worst of its nodes is another",
        ),
        (lambda data: data["nodes"][1].update(reported=False), ""),
    ],
)
def test_a_report_whose_nodes_contradict_its_cases_is_found(change: Any, told: str) -> None:
    data = together(shard("good"), shard("bad", BAD))
    change(data)
    data[FIELD] = checksum(data)
    said = [message for _, message in contradictions(data)]
    assert told in said if told else said == []


def test_nothing_good_may_be_said_without_the_report_of_a_node() -> None:
    data = together(shard("good"))
    data["nodes"][0]["reported"] = False
    data[FIELD] = checksum(data)
    assert [message for _, message in contradictions(data)] == [
        "conformant, though no report came of good"
    ]


def test_an_ordinary_run_says_nothing_of_nodes() -> None:
    run = run_of(GOOD)
    data = document(run, summarise(run))
    assert "nodes" not in data
    assert lines(data) == []


def kept(folder: Path, *items: Any) -> Path:
    file = folder / "maps.json"
    file.write_text(json.dumps({"kind": "List", "items": list(items)}), "utf-8")
    return file


def test_config_maps_bring_reports_and_the_list_of_nodes(tmp_path: Path) -> None:
    job = {"kind": "ConfigMap", "metadata": {"name": "job"}, "data": {"nodes": "a\nb\n"}}
    maps = [config_map(name, job="j", report=text_of(name).encode()) for name in ("a", "b")]
    there = found([kept(tmp_path, job, *maps)])
    named = [each.raw["environment"]["node"] for each in there.reports]
    assert named == there.nodes == ["a", "b"]
    assert maps[0]["metadata"]["labels"] == {"pytest-dra.dev/job": "j"}


def test_directories_and_files_bring_reports(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.yaml").write_text(text_of(name), "utf-8")
    there = found([tmp_path])
    assert (len(list(there.reports)), there.nodes) == (2, [])
    assert len(list(found([tmp_path / "a" / "report.yaml", tmp_path / "b"]).reports)) == 2


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({"kind": "Secret", "metadata": {}}, "want ConfigMaps"),
        ({"kind": "ConfigMap"}, "want ConfigMaps"),
        ({"kind": "ConfigMap", "metadata": {}, "binaryData": []}, "no report of any node"),
        ({"kind": "ConfigMap", "metadata": {}, "data": {"nodes": 3}}, "is no text"),
        (
            {"kind": "ConfigMap", "metadata": {"name": "j"}, "data": {"nodes": "a ../b"}},
            "ConfigMap j: nodes: '../b': must be a DNS-1123 subdomain",
        ),
        (
            {"kind": "ConfigMap", "metadata": {}, "binaryData": {"report.yaml.gz": "H4sI"}},
            "is broken: ",
        ),
        ({"kind": "ConfigMap", "metadata": {}, "binaryData": {"report.yaml.gz": 7}}, "is broken: "),
    ],
)
def test_what_is_no_config_map_of_a_job_is_told(item: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(BadReport, match=told):
        merged(found([kept(tmp_path, item)]).reports)


def test_what_unpacks_to_more_than_any_report_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_dra.report.shards.SIZE_LIMIT", 1000)
    bomb = config_map("a", job="j", report=b"0" * 100_000)
    with pytest.raises(BadReport, match="cut off, or larger than"):
        merged(found([kept(tmp_path, bomb)]).reports)


def test_the_merged_report_stays_small() -> None:
    nodes = [shard(f"node-{number}", BAD if number == 7 else GOOD) for number in range(20)]
    text = yaml.safe_dump(together(*nodes))
    assert text.count("node-7") < 10
