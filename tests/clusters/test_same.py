"""The embedded API server and a real one give the same states."""

from __future__ import annotations

import pytest

from pytest_dra.clusters.binaries import Binaries
from tests.clusters.same import differences
from tests.plugin.conftest import Runs


def test_each_case_that_ended_otherwise_is_told() -> None:
    embedded = {"PREP-014": "passed", "IDEM-003": "not-run"}
    assert differences(embedded, embedded) == []
    real = {"PREP-014": "unsupported-environment"}
    assert differences(real, embedded) == [
        "IDEM-003 not reported, want not-run",
        "PREP-014 unsupported-environment, want passed",
    ]


def test_cases_are_judged_on_a_real_server(runs: Runs, binaries: Binaries) -> None:
    del binaries
    done = runs.really(
        "-p", "no:cacheprovider", "--dra-driver=fake", "--dra-cluster=apiserver",
        "--dra-logs=always", "--dra-case=PREP-023,PREP-014,SLICE-001", "--dra-require=partial",
    )  # fmt: skip
    assert done.ret is pytest.ExitCode.OK
    cases, report = runs.cases(), runs.report()
    ids = ("PREP-023", "PREP-014", "SLICE-001")
    assert [cases[id]["state"] for id in ids] == ["passed"] * len(ids)
    assert report["environment"]["cluster"] == "apiserver"
    assert "--dra-cluster=apiserver" in report["reproduce"]["all"]
    kept = {each.name for each in (runs.folder / "dra-results/cases/PREP-023").iterdir()}
    assert {"etcd.log", "kube-apiserver.log", "driver.log", "timeline.jsonl"} <= kept


def test_a_fault_is_found_on_a_real_server(runs: Runs, binaries: Binaries) -> None:
    del binaries
    done = runs.really(
        "-p", "no:cacheprovider", "--dra-driver=fake --fault=PREP-006",
        "--dra-cluster=apiserver", "--dra-case=PREP-006,PREP-005",
    )  # fmt: skip
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    assert (runs.states()["PREP-006"], runs.states()["PREP-005"]) == ("failed", "passed")
