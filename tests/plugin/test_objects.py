"""``--dra-objects``: captured objects are judged, and no driver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pytest_dra.objectrun import judged_ids
from tests.objects.sample import claim
from tests.objects.sample import device
from tests.objects.sample import device_class
from tests.objects.sample import resource_slice
from tests.objects.sample import text_of
from tests.plugin.conftest import QUICK
from tests.plugin.conftest import Runs

GOOD = text_of(resource_slice())
BAD = text_of(resource_slice(devices=[device("GPU"), device("GPUS")]))
WARNED = text_of(resource_slice(driver="gpu"))
OPTION = "--dra-objects=objects.yaml"


@pytest.fixture
def file(runs: Runs) -> Path:
    return runs.folder / "objects.yaml"


def judge(runs: Runs, *arguments: str) -> pytest.RunResult:
    return runs.pytester.runpytest_inprocess(*QUICK, *arguments)


def test_right_objects_are_conformant_at_static_depth(runs: Runs, file: Path) -> None:
    file.write_bytes(GOOD)
    done = judge(runs, OPTION)
    assert done.ret is pytest.ExitCode.OK
    done.stdout.fnmatch_lines(
        [
            "dra: judging 1 objects of objects.yaml (command line)*",
            "verdict: conformant (STATIC at static depth on Kubernetes 1.37)*",
            "not-run, it takes a driver that runs (--dra-driver): *",
        ]
    )
    report = runs.report()
    assert report["verdictOf"]["profile"] == "STATIC"
    assert report["driver"]["name"] == "gpu.example.com"
    states = runs.states()
    assert states["SLICE-002"] == "passed"
    assert states["SLICE-006"] == states["ATTR-009"] == "not-applicable"
    assert states["PREP-001"] == "not-run"
    assert judged_ids() <= states.keys()


def test_a_broken_must_fails_with_file_and_line(runs: Runs, file: Path) -> None:
    file.write_bytes(BAD)
    done = judge(runs, OPTION)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    line = BAD.decode().splitlines().index("  - name: GPU") + 1
    done.stdout.fnmatch_lines([f"objects.yaml:{line}: ResourceSlice node-a-gpu", "verdict: non-*"])
    case = runs.cases()["SLICE-008"]
    assert case["state"] == "failed"
    assert done.parseoutcomes()["failed"] == 1
    assert (runs.folder / "dra-results" / "junit.xml").is_file()
    sarif = json.loads((runs.folder / "dra-results" / "findings.sarif").read_text("utf-8"))
    lines = [
        each["locations"][0]["physicalLocation"]["region"]["startLine"]
        for each in sarif["runs"][0]["results"]
        if each["ruleId"] == "SLICE-008"
    ]
    assert lines[0] == line


def test_a_broken_should_fails_strict_runs_only(runs: Runs, file: Path) -> None:
    file.write_bytes(WARNED)
    done = judge(runs, OPTION)
    assert (done.ret, done.parseoutcomes()["xfailed"]) == (pytest.ExitCode.OK, 1)
    assert judge(runs, OPTION, "--dra-strict").ret is pytest.ExitCode.TESTS_FAILED


def test_a_refused_claim_fails_the_run_though_no_case_is_about_it(runs: Runs, file: Path) -> None:
    file.write_bytes(text_of(resource_slice(), device_class(), claim("")))
    done = judge(runs, OPTION)
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["error, objects.yaml:*ResourceClaim*deviceClassName*refused?"])


def test_cases_can_be_selected_and_listed(runs: Runs, file: Path) -> None:
    file.write_bytes(BAD)
    done = judge(runs, OPTION, "--dra-case=ATTR", "--dra-require=partial")
    assert done.ret is pytest.ExitCode.OK
    done = judge(runs, OPTION, "-k", "SLICE-008")
    assert done.parseoutcomes() == {"failed": 1, "deselected": len(judged_ids()) - 1}
    done = judge(runs, OPTION, "--co", "-q")
    done.stdout.fnmatch_lines(["*::SLICE-002"])


def test_the_version_and_the_profile_are_used(runs: Runs, file: Path) -> None:
    taint = {"key": "gpu.example.com/a", "effect": "?"}
    file.write_bytes(text_of(resource_slice(devices=[device("a", taints=[taint])])))
    assert judge(runs, OPTION).ret is pytest.ExitCode.TESTS_FAILED
    assert judge(runs, OPTION, "--dra-kubernetes=1.34").ret is pytest.ExitCode.OK
    waiver = {
        "case": "TAINT-001",
        "reason": "r",
        "link": "https://a.example",
        "expires": "2099-01-01",
    }
    profile = {
        "apiVersion": "pytest-dra.dev/v1alpha1",
        "kind": "DriverProfile",
        "driver": {"name": "gpu.example.com"},
        "waivers": [waiver],
    }
    (runs.folder / "p.yaml").write_text(yaml.safe_dump(profile))
    done = judge(runs, OPTION, "--dra-profile=p.yaml", "--dra-require=partial")
    assert done.ret is pytest.ExitCode.OK
    assert runs.states()["TAINT-001"] == "waived"


def test_shipped_classes_are_judged_for_all_versions_of_the_driver(runs: Runs, file: Path) -> None:
    file.write_bytes(text_of(device_class("a", "device.allowMultipleAllocations == true")))
    for minimum, state in (("1.34", "failed"), ("1.37", "passed")):
        profile = {
            "apiVersion": "pytest-dra.dev/v1alpha1",
            "kind": "DriverProfile",
            "driver": {"name": "gpu.example.com", "kubernetes": {"min": minimum}},
        }
        (runs.folder / "p.yaml").write_text(yaml.safe_dump(profile))
        done = judge(runs, OPTION, "--dra-profile=p.yaml")
        assert runs.states()["ATTR-013"] == state
    done.stdout.no_fnmatch_line("*(Kubernetes 1.34*")


def test_own_tests_run_beside_where_they_are_named(runs: Runs, file: Path) -> None:
    file.write_bytes(GOOD)
    runs.pytester.makepyfile(test_mine="def test_mine(): assert True")
    done = judge(runs, OPTION, "test_mine.py")
    done.stdout.fnmatch_lines(["test_mine.py *"])
    assert done.ret is pytest.ExitCode.OK
    done = judge(runs, OPTION, "--dra-suite=off")
    assert done.parseoutcomes() == {"passed": 1}


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (b"a: [", (), "--dra-objects: objects.yaml:1: no YAML"),
        (b"", (), "--dra-objects=objects.yaml: there is no object of resource.k8s.io"),
        (GOOD, ("--dra-driver=fake",), "objects are judged without a driver"),
        (GOOD, ("--dra-case=PREP-001",), "--dra-case=PREP-001"),
        (GOOD, ("--dra-profile=none.yaml",), "--dra-profile: none.yaml"),
        (GOOD, ("-n2",), "it takes one process"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error(
    runs: Runs, file: Path, text: bytes, arguments: tuple[str, ...], said: str
) -> None:
    file.write_bytes(text)
    done = judge(runs, OPTION, *arguments)
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*{said}*"])
