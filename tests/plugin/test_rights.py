"""Runs of a driver that has the rights of its manifests, and no others."""

from __future__ import annotations

from pathlib import Path

from tests.plugin.conftest import Runs

FAKE = Path(__file__).parents[1] / "clients" / "fake"
CASES = "--dra-case=SLICE-001,SLICE-006,PREP-001,PREP-006,UNP-001"


def prepare(runs: Runs, *, without: str = "") -> str:
    """The profile and the manifests in the folder of the run; ``without``: a verb on slices."""
    role = (FAKE / "rbac.yaml").read_text("utf-8")
    (runs.folder / "rbac.yaml").write_text(role.replace(f" {without},", "") if without else role)
    profile = (FAKE / "dra-profile.yaml").read_text("utf-8")
    (runs.folder / "dra-profile.yaml").write_text(f"{profile}budgets: {{ start: 4, publish: 4 }}\n")
    return "--dra-profile=dra-profile.yaml"


def test_a_driver_that_ships_its_rights_passes(runs: Runs) -> None:
    runs.really("--dra-driver=fake", prepare(runs), CASES)
    assert set(runs.states().values()) >= {"passed"}
    assert "failed" not in runs.states().values()


def test_a_finding_names_the_rule_that_is_missing(runs: Runs) -> None:
    profile = prepare(runs, without="create")
    runs.really("--dra-driver=fake", profile, "--dra-case=SLICE-001")
    case = runs.cases()["SLICE-001"]
    assert case["state"] == "failed"
    rule = '{apiGroups: ["resource.k8s.io"], resources: [resourceslices], verbs: [create]}'
    assert f"its roles lack {rule}" in str(case)


def test_an_account_that_no_binding_names_is_refused(runs: Runs) -> None:
    profile = prepare(runs)
    path = runs.folder / "dra-profile.yaml"
    path.write_text(path.read_text("utf-8").replace("fake-system/fake-driver", "a/b"))
    result = runs.apart("--dra-driver=fake", profile)
    result.stderr.fnmatch_lines(["*launch.service_account: no binding in the manifests*"])
    assert result.ret == 4
