"""What may differ between the embedded API server and a real one."""

from __future__ import annotations

import pytest

from pytest_dra.clusters.binaries import Binaries
from tests.clusters.same import differences
from tests.plugin.conftest import Runs


def test_only_a_case_that_needs_trouble_may_be_unsupported() -> None:
    embedded = {"PREP-014": "passed", "PREP-006": "passed", "IDEM-003": "not-run"}
    real = {**embedded, "PREP-014": "unsupported-environment"}
    assert differences(real, embedded) == []
    assert differences({**real, "IDEM-003": "unsupported-environment"}, embedded) == []
    assert differences(embedded, embedded) == ["PREP-014 passed, want unsupported-environment"]
    real["PREP-006"] = "unsupported-environment"
    assert differences(real, embedded) == ["PREP-006 unsupported-environment, want passed"]
    del real["PREP-006"]
    assert differences(real, embedded) == ["PREP-006 not reported, want passed"]


def test_cases_are_judged_on_a_real_server(runs: Runs, binaries: Binaries) -> None:
    del binaries
    done = runs.really(
        "-p", "no:cacheprovider", "--dra-driver=fake", "--dra-cluster=apiserver",
        "--dra-logs=always", "--dra-case=PREP-023,PREP-014,SLICE-001", "--dra-require=partial",
    )  # fmt: skip
    assert done.ret is pytest.ExitCode.OK
    cases, report = runs.cases(), runs.report()
    assert [cases[id]["state"] for id in ("PREP-023", "SLICE-001")] == ["passed", "passed"]
    assert cases["PREP-014"]["state"] == "unsupported-environment"
    assert "--dra-cluster=embedded" in str(report["missing"])
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
