"""Shards that mean no good, or were changed: refused with file, line and reason, or harmless."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import os
import threading
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.commands.report import run
from pytest_dra.report import html
from pytest_dra.report import junit
from pytest_dra.report import markdown
from pytest_dra.report import yaml_report
from pytest_dra.report.checksum import FIELD
from pytest_dra.report.checksum import checksum
from pytest_dra.report.consistency import contradictions
from pytest_dra.report.document import document
from pytest_dra.report.merging import merged
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import Report
from pytest_dra.report.reading import read_text
from pytest_dra.report.results import State
from pytest_dra.report.shards import config_map
from pytest_dra.report.shards import found
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import summarise
from pytest_dra.report.yaml_report import problems_of
from tests.report.hostile import CONTROLS
from tests.report.hostile import EVIL
from tests.report.sharded import GOOD
from tests.report.sharded import MUST_ID
from tests.report.sharded import OTHER_MUST_ID
from tests.report.sharded import SHOULD_ID
from tests.report.sharded import shard
from tests.report.sharded import text_of

Change = Callable[[Any], object]


def changed(change: Change, node: str = "a") -> Report:
    """A report that somebody has changed, with a checksum that fits."""
    data = yaml.safe_load(text_of(node))
    change(data)
    data[FIELD] = checksum(data)
    return read_text(f"{node}.yaml", yaml.safe_dump(data))


def case(data: Any) -> Any:
    return next(each for each in data["cases"] if each["id"] == MUST_ID)


def twin(data: Any) -> Any:
    """A further result of a case, which it has not been judged with elsewhere."""
    data["cases"].append(copy.deepcopy(case(data)) | {"parameter": f"x{EVIL}"})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data.update(profile={"driver": {"scope": "moon"}}), "want node, cluster or"),
        (lambda data: data.update(profile={"driver": {"scope": ["node"]}}), "want node, cluster"),
        (lambda data: data.update(profile={"driver": "gpu"}), "profile.driver.scope: of no profil"),
        (lambda data: data.update(startedAt="2026-13-45T99:99:99Z"), "startedAt: no time at which"),
        (lambda data: data.update(startedAt="0000-01-01T00:00:00Z"), "startedAt: no time at which"),
        (lambda data: data.update(durationSeconds=10**299), "startedAt: no time at which a run"),
        (lambda data: data.update(durationSeconds=1e300), "startedAt: no time at which a run can"),
        (
            lambda data: data["environment"].update(node="../../etc"),
            "environment.node: '../../etc'",
        ),
        (lambda data: data["environment"].update(node="a\nb"), "must be a DNS-1123 subdomain"),
        (lambda data: data["environment"].update(node="a\x1b[2J"), "must be a DNS-1123 subdomain"),
        (lambda data: data["environment"].update(node="$(reboot)"), "must be a DNS-1123 subdomain"),
        (lambda data: data["environment"].update(node="a" * 300), "must be"),
    ],
)
def test_what_no_run_could_have_written_is_refused_with_its_line(change: Change, told: str) -> None:
    with pytest.raises(BadReport, match=r"^a\.yaml:[0-9]+: ") as caught:
        merged([changed(change), shard("b")])
    assert told in str(caught.value)
    assert not CONTROLS & set(str(caught.value))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data["implementation"].update(organization="Evil"), "identity of the driver"),
        (lambda data: data["features"].update(declared=["Nope"]), "set of features"),
        (lambda data: data["environment"].update(hardware="fake"), "hardware"),
        (lambda data: data["environment"].update(depths=["wire", "cluster"]), "depth"),
        (lambda data: data["driver"].update(name="other.example"), "driver"),
        (lambda data: data["profile"].update(driver={"name": "other.example"}), "profile of the"),
    ],
)
@pytest.mark.parametrize("node", ["a", "c"], ids=["first", "last"])
def test_no_shard_speaks_for_all_with_what_the_others_do_not_say(
    node: str, change: Change, told: str
) -> None:
    with pytest.raises(BadReport, match="no shards of one run") as caught:
        merged([shard("b"), changed(change, node)])
    assert f"{node}.yaml: node {node} has another {told}" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["environment"].update(cluster=EVIL * 1000),
        lambda data: data["options"].append({"name": f"--{EVIL}", "value": EVIL, "source": EVIL}),
        lambda data: data["environment"]["versions"].update({EVIL: EVIL}),
        lambda data: data["catalogue"].update(implemented=10**200),
        lambda data: case(data).update(durationSeconds=10**200, timeline=[EVIL] * 2000),
        lambda data: case(data).update(notes=[f"{EVIL}{number}" for number in range(2000)]),
        lambda data: case(data).update(area="ZZZZ", title=EVIL, breaks=EVIL),
        lambda data: data["reproduce"].update(all=f"pytest; {EVIL}"),
        lambda data: data["driver"].update(launched=EVIL),
        twin,
    ],
)
def test_what_a_shard_may_say_does_no_harm_in_any_form(change: Change) -> None:
    made = merged([changed(change), shard("b")], expected=["a", "b"])
    summary = summarise(made)
    data = document(made, summary)
    assert problems_of(data) == []
    assert list(contradictions(data)) == []
    forms = [yaml_report.render(data), html.render(data), markdown.render(data)]
    for text in (*forms, junit.render(made, summary)):
        assert len(text) < 400_000
        assert not CONTROLS & set(text)
        assert "<script>alert" not in text or text is forms[0]


def test_the_name_of_a_result_is_no_markup_where_nodes_differ() -> None:
    made = merged([changed(twin), shard("b")])
    summary = markdown.render(document(made, summarise(made)))
    (line,) = (each for each in summary.splitlines() if each.startswith("| <code>b"))
    for sign in ("<script", "](", "http://", "`", "@kubernetes"):
        assert sign not in line
    assert line.count("|") == 4


def test_notes_of_thousands_of_nodes_are_cut_and_it_is_said() -> None:
    made = merged([changed(lambda data: case(data).update(notes=[f"{n} s" for n in range(50)]))])
    (notes,) = (each.notes for each in made.results if each.case.id == MUST_ID)
    assert (len(notes), notes[0]) == (20, "0 s")
    assert notes[-1] == "more notes stand in the reports of single nodes"


@pytest.mark.parametrize("node", ["a", "c"], ids=["first", "last"])
def test_a_case_that_a_shard_does_not_speak_of_has_not_run_there(node: str) -> None:
    less = {id: state for id, state in GOOD.items() if id != MUST_ID}
    made = merged([shard("b"), shard(node, less)])
    (gone,) = (each for each in made.results if each.case.id == MUST_ID)
    assert (gone.state, gone.reason) == (State.NOT_RUN, "the report of a node says nothing of it")
    states = {each.name: each.states[MUST_ID] for each in made.nodes}
    assert states == {"b": "passed", node: "not-run"}
    summary = summarise(made)
    assert summary.overall.verdict is not Verdict.CONFORMANT
    assert list(contradictions(document(made, summary))) == []


def loud(field: str) -> bytes:
    """A report that says very much in a field of a case, nothing of which is said twice."""

    def say(data: Any) -> None:
        noise = hashlib.shake_256(b"noise").hexdigest(NOISE)
        case(data)[field] = [noise[begin : begin + 2000] for begin in range(0, len(noise), 2000)]

    return yaml.safe_dump(changed(say).raw).encode()


CONFIG_MAX = 16 * 1024
NOISE = 2 * CONFIG_MAX
"""Bytes: as hexadecimal digits half of them is left when they are compressed."""


def test_a_report_that_is_too_large_for_a_config_map_goes_without_its_proofs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_dra.report.shards.CONFIG_MAX", CONFIG_MAX)
    made = config_map("j-0", job="j", report=loud("timeline"))
    assert len(base64.b64decode(made["binaryData"]["report.yaml.gz"])) < CONFIG_MAX
    file = tmp_path / "maps.json"
    file.write_text(json.dumps({"items": [made]}), "utf-8")
    (report,) = found([file]).reports
    assert list(contradictions(report.raw)) == []
    assert "timeline" not in case(report.raw)
    assert case(report.raw)["notes"][-1].startswith("what happened round it is left out: ")
    with pytest.raises(BadReport, match=r"ConfigMap j-0: the report has [0-9]+ bytes, want 16384"):
        config_map("j-0", job="j", report=loud("notes"))


def test_shards_are_not_kept_while_the_next_ones_are_read() -> None:
    """A report in memory is forty times its text."""
    alive: list[int] = []

    class Counted(Report):
        __slots__ = ()

        def __del__(self) -> None:
            alive.pop()

    def taken() -> Iterator[Report]:
        for number in range(5):
            one = shard(f"node-{number}")
            alive.append(number)
            yield Counted(one.file, one.raw, one.tree)
            assert len(alive) <= 2

    assert len(merged(taken()).nodes) == 5


def test_more_nodes_than_any_cluster_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_dra.report.merging.NODES_LIMIT", 2)
    assert len(merged([shard("a")], expected=["a", "b"]).nodes) == 2
    with pytest.raises(BadReport, match="more than 2 nodes"):
        merged([shard("a")], expected=["b", "c"])
    with pytest.raises(BadReport, match=r"c\.yaml: more than 2 nodes"):
        merged([shard("a"), shard("b"), shard("c")])


@pytest.mark.parametrize("nodes", ["a,B_", "a,../b", "a,\x1b"])
def test_names_on_the_command_line_are_those_of_nodes(
    nodes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.yaml").write_text(text_of("a"), "utf-8")
    arguments = ["merge", str(tmp_path), "-o", str(tmp_path / "out")]
    assert run([*arguments, f"--nodes={nodes}"]) == 2
    assert ": must be a DNS-1123 subdomain" in capsys.readouterr().err
    assert run([*arguments, "--nodes= a , a"]) == 0


def test_a_list_that_comes_slowly_through_a_pipe_is_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "maps.json"
    os.mkfifo(pipe)
    text = json.dumps({"items": [config_map("j-0", job="j", report=text_of("a").encode())]})
    ready = threading.Event()

    def write() -> None:
        with pipe.open("w", encoding="utf-8") as file:
            file.write(text[:100])
            file.flush()
            ready.wait(10)
            file.write(text[100:])

    # An open end before the reader looks: without one the pipe would be empty at once.
    end = os.open(pipe, os.O_RDWR)
    writer = threading.Thread(target=write)
    writer.start()
    threading.Timer(0.2, ready.set).start()
    threading.Timer(0.4, os.close, (end,)).start()
    assert run(["merge", str(pipe), "-o", str(tmp_path / "out")]) == 0
    writer.join()


def test_a_folder_in_the_place_of_the_summary_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.yaml").write_text(text_of("a"), "utf-8")
    place = tmp_path / "out" / "summary.md"
    place.mkdir(parents=True)
    assert run(["merge", str(tmp_path / "report.yaml"), "-o", str(place.parent)]) == 2
    assert capsys.readouterr().err.startswith(f"dra-report: {place}: cannot be written: ")


def test_the_worst_state_is_of_the_first_node_by_name_whatever_the_order() -> None:
    states = {**GOOD, SHOULD_ID: State.FAILED, OTHER_MUST_ID: State.NOT_RUN}
    shards = [shard("a"), shard("b", states), shard("c", states)]
    for order in (shards, shards[::-1]):
        made = merged(order)
        assert [each.name for each in made.nodes] == ["a", "b", "c"]
        assert {each.case.id: each.state for each in made.results} == states
        assert made.results == merged(shards).results
