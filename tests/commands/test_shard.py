"""``dra-report shard``: one node of a job, judged from within its pod."""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_dra.api import resources
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.commands import reportshard
from pytest_dra.commands.report import run
from pytest_dra.embedded import certificates
from pytest_dra.embedded.incluster import ACCOUNT_DIR
from pytest_dra.kube import Client
from pytest_dra.launch import Jail
from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from pytest_dra.report.merging import node_of
from pytest_dra.report.shards import found
from pytest_dra.spec import Json
from tests.clusters.embeddedcluster import embedded
from tests.clusters.started import started
from tests.report.sharded import text_of

__all__ = ["embedded"]

WITHIN_S = 120.0

UIDS = ("0a1b2c3d-0000-4000-8000-00000000000a", "0a1b2c3d-0000-4000-8000-00000000000b")
"""Of two Jobs of one name."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the job's ConfigMap is mounted as, with the place where the report goes."""
    for name in ("JOB_COMPLETION_INDEX", "JOB_UID", "NODE_NAME", "SONOBUOY_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "nodes").write_text("node-a\nnode-b\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The runs of pytest that were asked for; each of them leaves a report."""
    asked: list[list[str]] = []

    def judged(argv: Sequence[str], *, within_s: float) -> int:
        asked.append(list(argv))
        given = dict(each.partition("=")[::2] for each in argv if each.startswith("--dra-"))
        place = Path(given["--dra-output"])
        place.mkdir(exist_ok=True)
        (place / "report.yaml").write_text(text_of(given["--dra-node"]), "utf-8")
        (place / "junit.xml").write_text("<testsuites/>", "utf-8")
        return 1

    monkeypatch.setattr(reportshard, "_judged", judged)
    return asked


def maps_of_mine(embedded: EmbeddedCluster) -> list[Json]:
    """What the shards of the job ``mine`` have left."""
    return embedded.admin().list(
        resources.CONFIG_MAPS, namespace="default", label_selector="pytest-dra.dev/job=mine"
    )


def test_the_index_of_the_pod_says_which_node_it_judges(
    folder: Path, runs: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    (folder / "dra-profile.yaml").write_text("driver: {}", "utf-8")
    assert run(["shard", f"--job={folder}", "--", "--dra-case=SLICE-001", "-q"]) == 0
    (argv,) = runs
    assert argv[:3] == [sys.executable, "-m", "pytest"]
    assert {"--dra-node=node-b", "--dra-cluster=kubeconfig", "--dra-driver=installed"} <= set(argv)
    assert f"--dra-profile={folder}/dra-profile.yaml" in argv
    assert argv[-2:] == ["--dra-case=SLICE-001", "-q"]


@pytest.mark.parametrize("index", ["", "2", "x", "-1", "\u0661", "9" * 5000])
def test_an_index_that_is_none_is_told(
    index: str,
    folder: Path,
    runs: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", index)
    assert run(["shard", f"--job={folder}"]) == 2
    assert f"JOB_COMPLETION_INDEX={index[:20]}: of 2 nodes" in capsys.readouterr().err
    (folder / "nodes").write_bytes(b"\xff")
    assert run(["shard", f"--job={folder}"]) == 2
    assert "nodes: no list of nodes: " in capsys.readouterr().err
    (folder / "nodes").unlink()
    assert run(["shard", f"--job={folder}"]) == 2
    assert "which node? " in capsys.readouterr().err
    assert runs == []


def test_the_report_is_kept_in_a_config_map_and_a_second_try_replaces_it(
    folder: Path,
    runs: list[list[str]],
    embedded: EmbeddedCluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    for _ in range(2):
        assert run(["shard", f"--job={folder}", "--keep=mine"]) == 0
    assert "the report is in ConfigMap default/mine-0" in capsys.readouterr().err
    (kept,) = maps_of_mine(embedded)
    assert kept["metadata"]["name"] == "mine-0"
    assert "report.yaml.gz" in kept["binaryData"]
    assert len(runs) == 2


def test_a_pod_that_is_ended_does_not_replace_the_report_of_the_one_in_its_place(
    folder: Path,
    runs: list[list[str]],
    embedded: EmbeddedCluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It takes minutes to end, as long as a whole run does, and has little to say."""
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    judged = reportshard._judged

    def interrupted(argv: Sequence[str], *, within_s: float) -> int:
        judged(argv, within_s=within_s)
        (folder / "dra-results" / "report.yaml").write_text("of a part", "utf-8")
        return int(pytest.ExitCode.INTERRUPTED)

    def left() -> str:
        kept = embedded.admin().get(resources.CONFIG_MAPS, "mine-0", namespace="default")
        return gzip.decompress(base64.b64decode(kept["binaryData"]["report.yaml.gz"])).decode()

    for judges, want in (
        (interrupted, "of a part"),
        (judged, text_of("node-a")),
        (interrupted, text_of("node-a")),
    ):
        monkeypatch.setattr(reportshard, "_judged", judges)
        assert run(["shard", f"--job={folder}", "--keep=mine"]) == 0
        assert left() == want
    assert "default/mine-0 has a report, which stays" in capsys.readouterr().err
    assert len(runs) == 3


def test_reports_of_two_runs_of_a_job_lie_beside_each_other(
    folder: Path,
    runs: list[list[str]],
    embedded: EmbeddedCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also those of a pod of the first that ends when the second has begun."""
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    for uid in (UIDS[0], UIDS[1], UIDS[0]):
        monkeypatch.setenv("JOB_UID", uid)
        assert run(["shard", f"--job={folder}", "--keep=mine"]) == 0
    maps = maps_of_mine(embedded)
    assert {each["metadata"]["name"]: each["metadata"]["labels"] for each in maps} == {
        f"mine-{uid}-0": {"pytest-dra.dev/job": "mine", "pytest-dra.dev/job-uid": uid}
        for uid in UIDS
    }
    assert len(runs) == 3


@pytest.mark.parametrize("uid", ["x", "../x", "\x1b[2J", UIDS[0].upper(), "9" * 5000])
def test_what_is_no_uid_of_a_job_is_told_before_anything_is_judged(
    uid: str,
    folder: Path,
    runs: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    monkeypatch.setenv("JOB_UID", uid)
    assert run(["shard", f"--job={folder}", "--keep=mine"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("dra-report: JOB_UID=")
    assert len(said) < 200
    assert runs == []


def test_an_api_server_that_does_not_take_it_is_told(
    folder: Path,
    runs: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    del runs
    monkeypatch.setenv("KUBECONFIG", str(folder / "missing"))
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    monkeypatch.setattr(reportshard, "DELIVERED_S", 0.0)
    assert run(["shard", f"--job={folder}", "--keep=mine"]) == 2
    assert "ConfigMap mine-0 cannot be made: no kubeconfig" in capsys.readouterr().err


def test_a_run_without_a_report_fails_its_pod(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    monkeypatch.setattr(reportshard, "_judged", lambda argv, *, within_s: 4)
    (folder / "dra-results").mkdir()
    (folder / "dra-results" / "report.yaml").write_text("of an earlier run", "utf-8")
    assert run(["shard", f"--job={folder}", "--keep=mine"]) == 4
    assert "node node-a: no report; pytest ended with 4" in capsys.readouterr().err


@pytest.fixture
def handed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where Sonobuoy takes results; nobody waits for the end of the pod."""
    waits: list[float] = []
    monkeypatch.setattr(signal, "sigtimedwait", lambda signals, seconds: waits.append(seconds))
    monkeypatch.setattr(signal, "pthread_sigmask", lambda how, signals: set())
    monkeypatch.setenv("SONOBUOY_RESULTS_DIR", str(folder / "taken"))
    monkeypatch.setenv("SONOBUOY_CONFIG_DIR", str(folder))
    yield folder / "taken"
    assert waits == [86_400]


def archive(place: Path) -> list[str]:
    packed = Path((place / "done").read_text("utf-8"))
    assert packed == place / "results.tar.gz"
    with tarfile.open(packed) as opened:
        return opened.getnames()


def test_sonobuoy_gets_report_and_junit_of_the_node_of_the_pod(
    handed: Path, runs: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_NAME", "node-b")
    assert run(["shard", "--sonobuoy"]) == 0
    assert "--dra-node=node-b" in runs[0]
    assert archive(handed) == ["report.yaml", "junit.xml"]


def test_sonobuoy_gets_an_empty_result_of_a_node_without_the_driver(
    handed: Path, runs: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_NAME", "control-plane")
    assert run(["shard", "--sonobuoy"]) == 0
    assert runs == []
    assert archive(handed) == ["junit.xml"]


def test_sonobuoy_is_not_left_waiting_where_no_report_was_made(
    handed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_NAME", "node-a")
    monkeypatch.setattr(reportshard, "_judged", lambda argv, *, within_s: 4)
    assert run(["shard", "--sonobuoy"]) == 0
    assert archive(handed) == []


INTERRUPTED = """
import sys, time
try:
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(2)
"""


def test_a_run_whose_time_is_over_is_interrupted() -> None:
    assert reportshard._judged([sys.executable, "-c", INTERRUPTED], within_s=1.0) == 2


def test_a_run_in_a_pod_that_is_ended_is_interrupted() -> None:
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    began = time.monotonic()
    assert reportshard._judged([sys.executable, "-c", INTERRUPTED], within_s=WITHIN_S) == 2
    assert time.monotonic() - began < WITHIN_S
    timer.join()


def published(client: Client) -> None:
    """Two nodes of a driver; on one of them nothing is offered."""
    for node, devices in (("node-a", [{"name": "gpu-0"}]), ("node-b", [])):
        client.create(resources.NODES, {"metadata": {"name": node}})
        client.create(
            resources.RESOURCE_SLICES,
            {
                "metadata": {"name": node},
                "spec": {
                    "driver": "gpu.example.com",
                    "nodeName": node,
                    "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                    "devices": devices,
                },
            },
        )


def test_a_pod_without_a_kubeconfig_judges_its_node_and_leaves_the_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole of it, over TLS and with the account's files at their fixed path."""
    account = folder / "account"
    account.mkdir()
    if problem := Jail.check({ACCOUNT_DIR: account}):
        pytest.skip(problem)
    if not certificates.available():
        pytest.skip(certificates.MISSING)
    with started() as cluster, Keeper() as keeper:
        published(cluster.admin())
        variables = cluster.driver_account(account, instance="main", node="node-a")
        jail = Jail(NodeDirectories.make(keeper), extra={ACCOUNT_DIR: account})
        program = "import sys; from pytest_dra.commands.report import main; main(sys.argv[1:])"
        shard = ["shard", f"--job={folder}", "--keep=mine", f"--output={folder / 'out'}"]
        options = ["--dra-driver-name=gpu.example.com", "--dra-case=SLICE-001", "-q"]
        done = subprocess.run(
            jail.command([sys.executable, "-c", program, *shard, "--", *options]),
            cwd=folder,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.pathsep.join(sys.path),
                "HOME": str(folder),
                "JOB_COMPLETION_INDEX": "1",
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        maps = cluster.admin().list(
            resources.CONFIG_MAPS, namespace="default", label_selector="pytest-dra.dev/job=mine"
        )
    (folder / "maps.json").write_text(json.dumps({"items": maps}), "utf-8")
    (report,) = found([folder / "maps.json"]).reports
    assert node_of(report) == "node-b"
    states = {each["id"]: each["state"] for each in report.raw["cases"]}
    assert states["SLICE-001"] == "failed"
    assert report.raw["environment"]["cluster"] == "kubeconfig"
