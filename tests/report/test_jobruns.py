"""Which reports ``dra-report merge`` takes where a job has been run more than once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.commands.report import run
from pytest_dra.report.shards import config_map
from pytest_dra.spec import Json
from tests.report.sharded import BAD
from tests.report.sharded import text_of

OLD, NEW = "0a1b2c3d-0000-4000-8000-00000000000a", "0a1b2c3d-0000-4000-8000-00000000000b"
"""Uids of two Jobs of one name."""


def kept(node: str, uid: str, *, job: str = "gpu", made: str = "", text: str = "") -> Json:
    """What the shard of a node has left, as a server gives it back."""
    item = config_map(
        f"{job}-{uid}-{node}", job=job, report=(text or text_of(node)).encode(), run=uid
    )
    item["metadata"] |= {"namespace": "here", **({"creationTimestamp": made} if made else {})}
    return item


def the_job(uid: Any, name: str = "gpu") -> Json:
    return {"kind": "Job", "metadata": {"name": name, "namespace": "here", "uid": uid}}


def nodes_of(*names: str, job: str = "gpu") -> Json:
    """The job's own ConfigMap, which is no run's."""
    return {
        "kind": "ConfigMap",
        "metadata": {"name": job, "namespace": "here", "labels": {"pytest-dra.dev/job": job}},
        "data": {"nodes": "".join(f"{each}\n" for each in names)},
    }


class Collected:
    """What was collected of a cluster, and what merging it says."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def merge(self, *items: Json, more: str = "--require=partial") -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        file = self._folder / "maps.json"
        file.write_text(json.dumps({"kind": "List", "items": list(items)}), "utf-8")
        code = run(["merge", str(file), more, "-o", str(self._folder / "out")])
        shown = self._capsys.readouterr()
        return code, shown.out, shown.err


@pytest.fixture
def collected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Collected:
    return Collected(tmp_path, capsys)


def test_the_job_that_is_there_says_which_run_is_meant(collected: Collected) -> None:
    """A shard of it has failed, whose node was good the time before."""
    code, out, err = collected.merge(
        the_job(NEW), nodes_of("a", "b"), kept("a", OLD), kept("b", OLD), kept("a", NEW)
    )
    assert (code, err) == (1, f"dra-report: job here/gpu: left out, of other runs: 2 of {OLD}\n")
    assert "without a report: b" in out


def test_a_run_with_fewer_nodes_has_none_of_the_time_before(collected: Collected) -> None:
    code, out, err = collected.merge(
        the_job(NEW), nodes_of("a"), kept("a", NEW), kept("b", OLD, text=text_of("b", BAD))
    )
    assert code == 0
    assert "nodes: 1, differing: none\n" in out
    assert err.count("left out") == 1


def test_a_run_that_left_nothing_is_not_hidden_by_the_one_before(collected: Collected) -> None:
    code, out, err = collected.merge(the_job(NEW), nodes_of("a"), kept("a", OLD))
    assert (code, out) == (2, "")
    assert err == (
        f"dra-report: no report of any node; job here/gpu: left out, of other runs: 1 of {OLD}; the"
        " Job that is there has left none, --run=UID takes those of another run\n"
    )


def test_several_runs_without_the_job_are_refused_the_newest_named_first(
    collected: Collected,
) -> None:
    maps = [
        kept("a", OLD, made="2026-11-01T08:00:00Z"),
        kept("b", NEW, made="2026-11-02T08:00:00Z"),
        kept("c", OLD, made="2026-11-01T09:00:00Z"),
    ]
    code, out, err = collected.merge(*maps)
    assert (code, out) == (2, "")
    assert err == (
        f"dra-report: job here/gpu: reports of 2 runs: 1 of {NEW} (2026-11-02T08:00:00Z), 2 of "
        f"{OLD} (2026-11-01T09:00:00Z); take one of them with --run=UID, or have the Job in the "
        "list, too: kubectl get jobs,configmaps\n"
    )
    code, out, err = collected.merge(*maps, more=f"--run={OLD}")
    assert (code, err.count("left out, of other runs: 1 of")) == (0, 1)
    assert "nodes: 2, differing: none\n" in out
    code, out, err = collected.merge(*maps, more=f"--run={OLD}, {NEW}")
    assert (code, err) == (0, "")
    assert "nodes: 3, differing: none\n" in out


def test_a_run_can_be_asked_for_against_the_job_that_is_there(collected: Collected) -> None:
    code, out, err = collected.merge(
        the_job(NEW), kept("a", OLD), kept("b", NEW), more=f"--run={OLD}"
    )
    assert (code, err) == (0, f"dra-report: job here/gpu: left out, of other runs: 1 of {NEW}\n")
    assert "nodes: 1, differing: none\n" in out


def test_a_run_that_is_not_there_is_told(collected: Collected) -> None:
    code, _, err = collected.merge(kept("a", OLD), more=f"--run={NEW}")
    assert (code, err) == (
        2,
        f"dra-report: --run={NEW}: no report of that run; there are: 1 of {OLD}\n",
    )


def test_one_run_needs_no_job(collected: Collected) -> None:
    """The Job may have been removed, by hand or by the cluster."""
    assert collected.merge(kept("a", OLD), kept("b", OLD))[0] == 0
    assert collected.merge(kept("a", ""), kept("b", ""))[0] == 0


def test_a_report_that_says_nothing_of_its_run_is_none_of_the_others(collected: Collected) -> None:
    code, _, err = collected.merge(kept("a", ""), kept("b", NEW))
    assert code == 2
    assert f"reports of 2 runs: 1 of unknown, 1 of {NEW}; " in err
    code, _, err = collected.merge(kept("a", ""), kept("b", NEW), the_job(NEW))
    assert (code, err.count("left out, of other runs: 1 of unknown")) == (0, 1)


def test_several_jobs_have_a_run_each(collected: Collected) -> None:
    """As where the nodes are too many for one."""
    other = kept("b", NEW, job="more")
    assert collected.merge(kept("a", OLD), other)[0] == 0
    code, _, err = collected.merge(the_job(OLD), the_job(NEW, "more"), kept("a", OLD), other)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("uid", [None, 7, ["x"], "\x1b[2J"])
def test_a_job_or_label_that_no_server_has_does_no_harm(uid: Any, collected: Collected) -> None:
    odd = kept("a", "")
    odd["metadata"]["labels"]["pytest-dra.dev/job-uid"] = uid
    odd["metadata"]["creationTimestamp"] = uid
    code, _, err = collected.merge(odd, kept("b", NEW), the_job(uid))
    assert code in (0, 2)
    assert "\x1b" not in err
    odd["metadata"]["labels"] = uid
    assert collected.merge(odd, kept("b", NEW))[0] in (0, 2)
